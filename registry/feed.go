package registry

import (
	"context"
	"sync"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// feed is the one watch that all waiters of a store share. It runs while somebody waits, and no longer: an idle store
// sends no request, and leaves no goroutine.
type feed struct {
	follow func(ctx context.Context, on func(kubeclient.Level[configMap]))

	mu      sync.Mutex
	waiters int
	run     int // counts the watches, so that one that is stopping cannot overwrite what its successor saw
	stop    func()
	level   *kubeclient.Level[configMap] // nil: not known yet
	changed chan struct{}                // closed, and replaced, when level changes
}

// enter counts a waiter in and starts the watch for the first. The returned function counts it out; after the last one
// it returns when the watch has stopped.
func (f *feed) enter(ctx context.Context) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	if f.waiters == 1 {
		f.start(context.WithoutCancel(ctx)) // the watch outlives its first waiter; the values (logger) stay
	}
	return f.leave
}

// start needs f.mu.
func (f *feed) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	f.level, f.changed = nil, make(chan struct{})
	f.run++
	run := f.run
	f.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		f.follow(ctx, func(level kubeclient.Level[configMap]) { f.publish(run, level) })
	}()
}

func (f *feed) leave() {
	f.mu.Lock()
	f.waiters--
	stop := f.stop
	last := f.waiters == 0
	f.mu.Unlock()
	if last {
		stop()
	}
}

func (f *feed) publish(run int, level kubeclient.Level[configMap]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run != f.run {
		return
	}
	f.level = &level
	close(f.changed)
	f.changed = make(chan struct{})
}

// now is the level as last seen, nil if none was, and the channel that closes at the next change.
func (f *feed) now() (*kubeclient.Level[configMap], <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.level, f.changed
}
