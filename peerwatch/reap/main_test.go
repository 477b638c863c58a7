package reap

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a real API server. No kubelet, scheduler or operator runs: tests write statuses and Events by hand.
type server struct {
	client.Client
	cfg *rest.Config
}

func startServer(t *testing.T) *server {
	t.Helper()
	cfg := testenv.Start(t)
	c, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	require.NoError(t, err)
	return &server{Client: c, cfg: cfg}
}

// place is a namespace with a book and the owner of its pods.
type place struct {
	*server
	namespace string
	owner     *appsv1.StatefulSet
}

func (s *server) newPlace(t *testing.T, namespace string) *place {
	t.Helper()
	p := &place{server: s, namespace: namespace}
	require.NoError(t, s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	require.NoError(t, s.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: p.meta(DefaultBook)}))
	labels := map[string]string{"a": "b"}
	p.owner = &appsv1.StatefulSet{ObjectMeta: p.meta("owner"), Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
	}}
	require.NoError(t, s.Create(t.Context(), p.owner))
	return p
}

func (p *place) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: p.namespace}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-worker", Image: "stub"}}}
}

// stuck makes a pod that has waited on a node for an hour, and the kubelet's Event that says why.
func (p *place) stuck(t *testing.T, name, node, run string) *corev1.Pod {
	t.Helper()
	made := p.waiting(t, name, node, run)
	p.event(t, made, "FailedPrepareDynamicResources")
	return made
}

// waiting makes a pod that has waited on a node for an hour.
func (p *place) waiting(t *testing.T, name, node, run string) *corev1.Pod {
	t.Helper()
	return p.waitingFor(t, time.Hour, name, node, run)
}

func (p *place) waitingFor(t *testing.T, long time.Duration, name, node, run string) *corev1.Pod {
	t.Helper()
	made := &corev1.Pod{ObjectMeta: p.meta(name), Spec: podSpec()}
	made.Spec.NodeName = node
	made.Labels = map[string]string{"ray.io/cluster": run + "-gym", "tandem.dev/run": run}
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(p.owner, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	require.NoError(t, p.Create(t.Context(), made))
	made.Status = corev1.PodStatus{
		Phase: corev1.PodPending,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-long))},
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "ray-worker", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}},
	}
	require.NoError(t, p.Status().Update(t.Context(), made))
	return made
}

// event is written as client-go's recorder does it for the kubelet.
func (p *place) event(t *testing.T, about *corev1.Pod, reason string) {
	t.Helper()
	now := metav1.Now()
	require.NoError(t, p.Create(t.Context(), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: p.namespace, GenerateName: about.Name + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.namespace, Name: about.Name, UID: about.UID},
		Reason:         reason, Message: "imex is wedged", Type: corev1.EventTypeWarning, Count: 3,
		Source: corev1.EventSource{Component: "kubelet", Host: about.Spec.NodeName}, FirstTimestamp: now, LastTimestamp: now,
	}))
}

func (p *place) there(t *testing.T, pod *corev1.Pod) bool {
	t.Helper()
	var found corev1.Pod
	err := p.Get(t.Context(), client.ObjectKeyFromObject(pod), &found)
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	return err == nil && found.UID == pod.UID && found.DeletionTimestamp == nil
}

// book is what the ConfigMap says.
func (p *place) book(t *testing.T) Book {
	t.Helper()
	var cm corev1.ConfigMap
	require.NoError(t, p.Get(t.Context(), types.NamespacedName{Namespace: p.namespace, Name: DefaultBook}, &cm))
	book, err := openBook(configMap{Data: cm.Data})
	require.NoError(t, err)
	return book
}

// events are the reaper's Events about a pod, by reason.
func (p *place) events(t *testing.T, about *corev1.Pod) map[string]eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, p.List(t.Context(), &list, client.InNamespace(p.namespace)))
	byReason := map[string]eventsv1.Event{}
	for _, e := range list.Items {
		if e.Regarding.UID == about.UID && e.ReportingController == reportingController {
			require.NotContains(t, byReason, e.Reason, "once")
			byReason[e.Reason] = e
		}
	}
	return byReason
}

// looks collects what a reaper saw.
type looks struct {
	mu       sync.Mutex
	count    int
	kinds    map[string]Kind // by pod
	problems []error
	changed  chan struct{}
}

func (l *looks) Looked(actions []Action, _ int, problems []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.kinds = map[string]Kind{}
	for _, action := range actions {
		l.kinds[action.Pod.Name] = action.Kind
	}
	l.problems = problems
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *looks) Did(Step) {}

// until waits for a look that satisfies cond.
func (l *looks) until(t *testing.T, what string, cond func(*looks) bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		l.mu.Lock()
		satisfied, changed, last := l.count > 0 && cond(l), l.changed, fmt.Sprintf("%v, %v", l.kinds, l.problems)
		l.mu.Unlock()
		if satisfied {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.FailNow(t, "never seen", "%s; last look: %s", what, last)
		}
	}
}

func (l *looks) decided(t *testing.T, pod *corev1.Pod, want Kind) {
	t.Helper()
	l.until(t, pod.Name+": "+string(want), func(l *looks) bool { return l.kinds[pod.Name] == want })
}

// twice waits for two more looks without trouble: what was not done by then is not going to be.
func (l *looks) twice(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	from := l.count
	l.mu.Unlock()
	l.until(t, "two more looks", func(l *looks) bool { return l.count >= from+2 && len(l.problems) == 0 })
}

// reap starts a reaper, until the test ends or stop is called.
func (p *place) reap(t *testing.T, cfg *rest.Config, changes ...func(*Config)) (seen *looks, stop func()) {
	t.Helper()
	seen = &looks{changed: make(chan struct{})}
	config := Config{Namespace: p.namespace, Policy: DefaultPolicy(), Observer: seen, LookAgain: 100 * time.Millisecond, Instance: "reaper"}
	for _, change := range changes {
		change(&config)
	}
	reaper, err := New(config, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := reaper.Run(ctx); err != nil {
			t.Errorf("the reaper failed: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return seen, stop
}
