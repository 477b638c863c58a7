package fire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
	"github.com/tandem-rl/tandem/test/podclient"
)

// everything is what the role of a run's pods allows on its ConfigMaps.
var everything = []string{"get", "list", "watch", "patch"}

// scene is one run in a namespace of its own, and its pods.
type scene struct {
	registry.Config
	ctx     context.Context // ends before the test would hang
	client  kubernetes.Interface
	account *podclient.Account
	pod     *rest.Config
	fleet   podclient.Fleet
}

// newScene makes what `tandem up` makes of a run, for pods whose role has verbs.
func newScene(t *testing.T, shards int, verbs ...string) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	client, err := kubernetes.NewForConfig(admin)
	require.NoError(t, err)
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fire-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s := &scene{Config: registry.Config{Run: "run", Namespace: namespace.Name, Shards: shards}, ctx: ctx, client: client}
	t.Cleanup(s.fleet.Close)
	s.create(t, s.objects()...)
	s.account, err = podclient.NewAccount(ctx, admin, namespace.Name, "pod", verbs...)
	require.NoError(t, err)
	s.pod, err = s.account.Config(ctx)
	require.NoError(t, err)
	return s
}

// objects are the run's ConfigMaps.
func (s *scene) objects() []string { return append([]string{s.Name()}, s.ShardNames()...) }

func (s *scene) create(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := s.client.CoreV1().ConfigMaps(s.Namespace).Create(s.ctx, cm, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func (s *scene) delete(t *testing.T) {
	t.Helper()
	require.NoError(t, s.client.CoreV1().ConfigMaps(s.Namespace).Delete(s.ctx, s.Name(), metav1.DeleteOptions{}))
}

// data is what a client reads that knows only the run's ConfigMap.
func (s *scene) data(t *testing.T) map[string]string {
	t.Helper()
	cm, err := s.client.CoreV1().ConfigMaps(s.Namespace).Get(s.ctx, s.Name(), metav1.GetOptions{})
	require.NoError(t, err)
	return cm.Data
}

// store is one more pod of the run, with a connection of its own.
func (s *scene) store(t *testing.T, pod string) *registry.Store {
	t.Helper()
	return s.storeWith(t, s.Config, s.pod, pod)
}

func (s *scene) storeWith(t *testing.T, cfg registry.Config, api *rest.Config, pod string) *registry.Store {
	t.Helper()
	cfg.Publisher = registry.Publisher{Pod: pod, UID: "uid-of-" + pod}
	store, err := registry.New(cfg, s.fleet.Pod(api))
	require.NoError(t, err)
	return store
}

// fold runs the run's folder until the test ends.
func (s *scene) fold(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.foldUntil(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

func (s *scene) foldUntil(ctx context.Context) error {
	folder, err := registry.NewFolder(s.Config, s.fleet.Pod(s.pod))
	if err != nil {
		return err
	}
	return folder.Run(ctx)
}

// until fails the test if the scene ends before holds.
func (s *scene) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.NoError(t, podclient.Until(s.ctx, holds), what)
}

// pause lets time pass where that is what is played.
func (s *scene) pause(t *testing.T, d time.Duration) {
	t.Helper()
	require.NoError(t, pause(s.ctx, d))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scribe writes a growing number to a key of its own, four times a second at most.
type scribe struct {
	key   string
	acked atomic.Int64 // the last number that was acknowledged
}

// scribes starts n of them. They go on where the error is one that may pass; stop ends them and checks the promise.
func (s *scene) scribes(t *testing.T, n int, passes ...error) (all []*scribe, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, n)
	for i := range n {
		one := &scribe{key: fmt.Sprintf("scribe-%d", i)}
		store := s.store(t, one.key)
		all = append(all, one)
		go func() { ended <- one.write(ctx, store, passes) }()
	}
	return all, func() {
		cancel()
		for range all {
			require.NoError(t, <-ended)
		}
		s.requireAcknowledged(t, all)
	}
}

func (w *scribe) write(ctx context.Context, store *registry.Store, passes []error) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		err := store.Set(ctx, w.key, strconv.FormatInt(n, 10))
		switch {
		case err == nil:
			w.acked.Store(n)
		case ctx.Err() != nil:
			return nil
		case !isOneOf(err, passes):
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func isOneOf(err error, passes []error) bool {
	for _, pass := range passes {
		if errors.Is(err, pass) {
			return true
		}
	}
	return false
}

// awaitMore returns when every scribe has been acknowledged once more.
func (s *scene) awaitMore(t *testing.T, all []*scribe) {
	t.Helper()
	for _, one := range all {
		before := one.acked.Load()
		s.until(t, one.key+" is acknowledged", func() bool { return one.acked.Load() > before })
	}
}

// requireAcknowledged: the value is the last that was acknowledged, or one whose answer did not come.
func (s *scene) requireAcknowledged(t *testing.T, all []*scribe) {
	t.Helper()
	s.until(t, "what was acknowledged is in the run's ConfigMap", func() bool {
		data := s.data(t)
		for _, one := range all {
			have, err := strconv.ParseInt(data[one.key], 10, 64)
			if err != nil || have < one.acked.Load() {
				return false
			}
		}
		return true
	})
}

// waiter is a pod that waits for a key.
type waiter struct {
	value string
	err   error
	done  chan struct{}
}

func (s *scene) waiter(ctx context.Context, store *registry.Store, key string) *waiter {
	w := &waiter{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.value, w.err = store.Get(ctx, key)
	}()
	return w
}

// waiters start to wait and have seen that the key is not there.
func (s *scene) waiters(t *testing.T, n int, key string) []*waiter {
	t.Helper()
	all := make([]*waiter, n)
	watches := s.fleet.Watches()
	for i := range all {
		all[i] = s.waiter(s.ctx, s.store(t, fmt.Sprintf("waiter-%d", i)), key)
	}
	s.until(t, "all watch", func() bool { return s.fleet.Watches() >= watches+n })
	return all
}

func (w *waiter) requireValue(t *testing.T, value string) {
	t.Helper()
	<-w.done // its context ends
	require.NoError(t, w.err)
	require.Equal(t, value, w.value)
}

// requireInTime: a call with a second to spend is back soon after, for no other reason.
func (s *scene) requireInTime(t *testing.T, call func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, time.Second)
	defer cancel()
	began := time.Now()
	err := call(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}
