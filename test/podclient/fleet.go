package podclient

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Fleet hands out configurations whose clients share no connection, as pods do not, and counts the answers to all of
// them together. The zero value is ready.
type Fleet struct {
	Tally
	mu    sync.Mutex
	conns []net.Conn
}

// Pod is a copy of cfg for one more pod.
func (f *Fleet) Pod(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	// A dial function of its own keeps client-go from sharing a transport with the same settings.
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.conns = append(f.conns, conn)
		}
		return conn, err
	}
	cfg.QPS = -1
	cfg.Wrap(f.wrap)
	return cfg
}

// Close closes every connection.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		_ = conn.Close() // the server is told or finds out; nothing depends on it
	}
	f.conns = nil
}

// Tally counts answers.
type Tally struct {
	mu      sync.Mutex
	status  map[int]int
	watches int
}

func (t *Tally) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			t.count(req, resp.StatusCode)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (t *Tally) count(req *http.Request, status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == nil {
		t.status = map[int]int{}
	}
	t.status[status]++
	if status == http.StatusOK && req.URL.Query().Has("watch") {
		t.watches++
	}
}

// Status is how many answers had a status.
func (t *Tally) Status(status int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status[status]
}

// Answers is how many there were.
func (t *Tally) Answers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, count := range t.status {
		n += count
	}
	return n
}

// Watches is how many watches the server has opened so far.
func (t *Tally) Watches() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.watches
}
