package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Wait follows a run until it ends and returns its last status. It reports each transition in a line. It ends with the error of ctx
// when that ends, with ErrNotFound or ErrRemoved when the run is not there (any more), and with the server's refusal to let it watch.
func (l *Launcher) Wait(ctx context.Context, namespace, name string, report func(line string)) (Status, error) {
	status, err := l.Status(ctx, namespace, name)
	if err != nil {
		return status, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := l.watch(ctx, namespace, name, status.Backend)
	if err != nil {
		cancel()
		return status, err
	}
	defer w.factory.Shutdown()
	defer cancel()
	return l.follow(ctx, w, report)
}

// follow judges the run again after every change, until it has ended or is gone.
func (l *Launcher) follow(ctx context.Context, w *watcher, report func(line string)) (Status, error) {
	var last, told Status
	var patient patience
	for {
		line, at := patient.look(last, time.Now())
		if line != "" {
			report(line)
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case err := <-w.refused:
			return last, err
		case <-after(at):
			continue
		case <-w.changed:
		}
		next, err := w.status()
		if err != nil {
			return last, err
		}
		// A removal takes the ConfigMap last, which says that it is one.
		if next.Phase.Ended() || next.absent || last.Phase == Removing && next.Phase != Removing {
			// The watches of different kinds run apart; what they say together is checked on one read.
			if next, err = l.settle(ctx, w, next); err != nil {
				return last, err
			}
		}
		for _, line := range transitions(told, next) {
			report(line)
		}
		if next.Phase.Ended() {
			return next, nil
		}
		last, told = next, next.after(told)
	}
}

// after fires at a time; never for the zero time.
func after(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// settle reads the run once more when it looks ended or when its workload is missing. A workload that is gone without an error was
// deleted by somebody, which is a failure; a run of which nothing is left was removed.
func (l *Launcher) settle(ctx context.Context, w *watcher, seen Status) (Status, error) {
	status, err := l.Status(ctx, w.namespace, w.name)
	switch {
	case errors.Is(err, ErrNotFound):
		return seen, fmt.Errorf("run %s/%s: %w", w.namespace, w.name, ErrRemoved)
	case err != nil:
		return seen, err
	case status.absent:
		status.Phase, status.Reason = Failed, status.Reason+": somebody deleted it"
	}
	return status, nil
}

// watcher keeps the run's objects by list and watch; the informers renew watches that are closed.
type watcher struct {
	name, namespace string
	factory         dynamicinformer.DynamicSharedInformerFactory
	informers       map[kind]informers.GenericInformer
	changed         chan struct{} // has room for one: what matters is that something changed since
	refused         chan error
}

// watch starts to watch the kinds of a backend and returns once all are read for the first time.
func (l *Launcher) watch(ctx context.Context, namespace, name string, backend v1alpha1.Backend) (*watcher, error) {
	w := &watcher{
		name: name, namespace: namespace,
		factory: dynamicinformer.NewFilteredDynamicSharedInformerFactory(l.dynamic, 0, namespace,
			func(o *metav1.ListOptions) { o.LabelSelector = ofRun(name) }),
		informers: map[kind]informers.GenericInformer{},
		changed:   make(chan struct{}, 1),
		refused:   make(chan error, 1),
	}
	for _, k := range append(workloads(backend), configMaps, pods) {
		if err := w.add(k); err != nil {
			return nil, err
		}
	}
	w.factory.Start(ctx.Done())
	w.wake()
	return w, w.synced(ctx)
}

func (w *watcher) add(k kind) error {
	informer := w.factory.ForResource(k.resource)
	w.informers[k] = informer
	if err := informer.Informer().SetWatchErrorHandlerWithContext(w.onWatchError); err != nil {
		return fmt.Errorf("watching %ss: %w", k.name, err)
	}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.wake() },
		UpdateFunc: func(any, any) { w.wake() },
		DeleteFunc: func(any) { w.wake() },
	})
	if err != nil {
		return fmt.Errorf("watching %ss: %w", k.name, err)
	}
	return nil
}

func (w *watcher) wake() {
	select {
	case w.changed <- struct{}{}:
	default: // a change is noted already
	}
}

// onWatchError gives up where trying again is useless, and leaves the rest to client-go, which logs and tries again.
func (w *watcher) onWatchError(ctx context.Context, r *cache.Reflector, err error) {
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		select {
		case w.refused <- fmt.Errorf("watching run %s/%s: %w", w.namespace, w.name, err):
		default: // one refusal is enough
		}
		return
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// synced waits until every kind has been read once.
func (w *watcher) synced(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.factory.WaitForCacheSync(ctx.Done())
	}()
	select {
	case err := <-w.refused:
		return err
	case <-done:
		return ctx.Err()
	}
}

// status judges what the watches hold.
func (w *watcher) status() (Status, error) {
	s := &snapshot{name: w.name, namespace: w.namespace}
	for k, informer := range w.informers {
		objects, err := informer.Lister().List(labels.Everything())
		if err != nil {
			return Status{}, fmt.Errorf("reading watched %ss: %w", k.name, err)
		}
		items := make([]unstructured.Unstructured, len(objects))
		for i, object := range objects {
			items[i] = *object.(*unstructured.Unstructured)
		}
		if err := s.add(k, items); err != nil {
			return Status{}, err
		}
	}
	return assess(s), nil
}
