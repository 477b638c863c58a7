package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/registry"
	"github.com/tandem-rl/tandem/test/fakeray"
)

// The polling watcher at its defaults.
const (
	pollEvery   = 10 * time.Second
	maxStrikes  = 3
	pollTimeout = 10 * time.Second
	// restartAfter is how long the kubelet waits before it starts a container again that failed.
	restartAfter = 10 * time.Second
)

// poller is a watcher that works as NeMo-RL's inline one does. It knows one peer, and looks at its RayCluster's state
// every ten seconds: a peer that is not there is dead; one whose state is failed or suspended, or an answer without a
// state, is a strike; after three in a row the peer is dead. It also looks at the registry's error key, which is off by default
// and on here. It takes the run down by three deletions, its own cluster first, and does not look at what they are
// answered.
type poller struct {
	client              *http.Client
	own, peer, registry string // URLs of the two RayClusters and of the registry's ConfigMap
	tornDown            int    // how often it decided to
}

// newPollers are those of both clusters of a run; they reach the API server through api.
func newPollers(ctx context.Context, r *fakeray.Run, api *rest.Config) ([]*poller, error) {
	token, err := r.Token(ctx, nil)
	if err != nil {
		return nil, err
	}
	cfg := rest.AnonymousClientConfig(api)
	cfg.BearerToken = token
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	host, namespace := strings.TrimSuffix(api.Host, "/"), "/namespaces/"+r.Metadata.Namespace
	clusters := host + "/apis/ray.io/v1" + namespace + "/rayclusters/"
	cm := host + "/api/v1" + namespace + "/configmaps/" + v1alpha1.ConfigMapName(r.Metadata.Name)
	var both []*poller
	for i := range 2 {
		both = append(both, &poller{client: client, own: clusters + r.Cluster(i), peer: clusters + r.Cluster(1-i), registry: cm})
	}
	return both, nil
}

// run polls until it has deleted its own cluster, and its pod with that, or ctx ends.
func (p *poller) run(ctx context.Context) error {
	if err := pause(ctx, rand.N(pollEvery)); err != nil { // pods start when they start
		return nil
	}
	for strikes := 0; pause(ctx, pollEvery) == nil; {
		dead, strike := p.look(ctx)
		if strike {
			strikes++
		} else {
			strikes = 0
		}
		if ctx.Err() != nil || !dead && strikes < maxStrikes {
			continue
		}
		p.tornDown++
		if p.tearDown(ctx) {
			return nil
		}
		strikes = 0
		if err := pause(ctx, restartAfter); err != nil {
			return nil
		}
	}
	return nil
}

// look tells whether the peer is dead, or seems to be.
func (p *poller) look(ctx context.Context) (dead, strike bool) {
	var cluster struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	}
	code := p.get(ctx, p.peer, &cluster)
	if code == http.StatusNotFound {
		return true, false
	}
	var cm struct {
		Data map[string]string `json:"data"`
	}
	if p.get(ctx, p.registry, &cm) == http.StatusOK && cm.Data[registry.ErrorKey] != "" {
		return true, false
	}
	switch state := cluster.Status.State; state {
	case "failed", "suspended":
		return false, true
	default:
		return false, code != 0 && state == ""
	}
}

// get reads an object. The code is 0 when there was no answer.
func (p *poller) get(ctx context.Context, url string, into any) (code int) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	resp, err := p.send(ctx, http.MethodGet, url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) != nil {
		return 0
	}
	return resp.StatusCode
}

// tearDown tells whether the poller's own cluster is gone.
func (p *poller) tearDown(ctx context.Context) (gone bool) {
	for _, url := range []string{p.own, p.peer, p.registry} {
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		resp, err := p.send(ctx, http.MethodDelete, url)
		if err == nil {
			if url == p.own {
				gone = resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound
			}
			_ = resp.Body.Close() // it ignores answers
		}
		cancel()
	}
	return gone
}

func (p *poller) send(ctx context.Context, method, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return p.client.Do(req)
}
