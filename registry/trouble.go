package registry

import (
	"context"
	"sync"

	"k8s.io/klog/v2"
)

// trouble says once that something does not work, and once that it works again, however often it was tried and on how
// many objects.
type trouble struct {
	fails, works string // what to say

	mu    sync.Mutex
	kinds map[string]kind // of the objects that fail now
	said  kind
}

// kind is how bad it is. Trouble that gets worse is said.
type kind int

const (
	well    kind = iota
	passing      // the server is away, busy or broken
	lasting      // nothing will work until somebody does something
)

func kindOf(err error) kind {
	switch {
	case err == nil:
		return well
	case retryable(err):
		return passing
	default:
		return lasting
	}
}

// note is told every outcome.
func (t *trouble) note(ctx context.Context, object string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]kind{}
	}
	t.kinds[object] = kindOf(err)
	worst := well
	for _, k := range t.kinds {
		worst = max(worst, k)
	}
	switch {
	case worst > t.said:
		klog.FromContext(ctx).Error(err, t.fails)
	case worst == well && t.said != well:
		klog.FromContext(ctx).Info(t.works)
	}
	t.said = worst
}
