package podprocess

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

// Proxy stands between pods and the API server, and breaks what it is told to: see [faultyapi.Requests].
type Proxy struct {
	*faultyapi.Requests
	// API is what pods behind the proxy take for the API server.
	API *rest.Config

	server *httptest.Server
	lives  atomic.Int64 // how long a watch lives; 0: as long as it likes
}

// NewProxy passes requests on with the token that they bring.
func NewProxy(api *rest.Config) (*Proxy, error) {
	target, err := url.Parse(api.Host)
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	broken, requests := faultyapi.Wrap(rest.AnonymousClientConfig(api))
	p.Requests = requests
	transport, err := rest.TransportFor(broken)
	if err != nil {
		return nil, err
	}
	silent := log.New(io.Discard, "", 0)
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // a watch's events go out one by one
		ErrorLog:      silent,
	}
	p.server = httptest.NewUnstartedServer(p.cutting(forward))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = silent
	p.server.StartTLS()
	p.API = &rest.Config{Host: p.server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}),
	}}
	return p, nil
}

// Refusal is what an API server answers that does not do what it is asked.
func Refusal(req *http.Request, code int) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused with %d","reason":%q,"code":%d}`,
		code, http.StatusText(code), code)
	resp := faultyapi.Answer(req, code, body)
	if code == http.StatusTooManyRequests {
		resp.Header.Set("Retry-After", "1")
	}
	return resp
}

// CutWatches ends every watch that begins from now on after d; never for 0.
func (p *Proxy) CutWatches(d time.Duration) { p.lives.Store(int64(d)) }

func (p *Proxy) cutting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lives := time.Duration(p.lives.Load()); lives > 0 && faultyapi.Kind(r) == "WATCH" {
			ctx, cancel := context.WithTimeout(r.Context(), lives)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// Close ends the proxy and every connection to it.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}
