package peerwatch

import (
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// troubles remember when the API server was last away, busy or broken, whoever asked. A server that has just started
// refuses before it has read the roles; such a refusal is not final.
type troubles struct {
	now  func() time.Time
	last atomic.Pointer[time.Time]
}

// watch makes everything that is asked through cfg count.
func (t *troubles) watch(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &noting{next, t} })
	return cfg
}

// mayPass: a refusal so soon after trouble.
func (t *troubles) mayPass(err error) bool { return apierrors.IsForbidden(err) && t.lately() }

func (t *troubles) lately() bool {
	last := t.last.Load()
	return last != nil && t.now().Sub(*last) < kubeclient.RolesWithin
}

// noting is a transport that tells of troubles.
type noting struct {
	next     http.RoundTripper
	troubles *troubles
}

func (n *noting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(req)
	broken := err != nil && req.Context().Err() == nil
	if broken || (err == nil && (resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests)) {
		now := n.troubles.now()
		n.troubles.last.Store(&now)
	}
	return resp, err
}
