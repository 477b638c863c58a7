package registry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// PodLister tells which publishers are gone.
type PodLister interface {
	// Gone returns those whose pod is not there any more. It returns soon; where it is not known, nobody is gone.
	Gone(ctx context.Context, publishers []Publisher) []Publisher
}

// runLabel is on every pod of a run that tandem made.
const runLabel = "tandem.dev/run"

// lookWithin bounds what a reader pays to learn whether a publisher is alive; fewPods are looked up by name.
const (
	lookWithin = time.Second
	fewPods    = 8
)

// pods asks the API server, as long as the role allows it.
type pods struct {
	client  *kubeclient.Client
	run     string
	refused atomic.Bool

	mu       sync.Mutex
	refusals kubeclient.Refusals
	gone     map[Publisher]bool // a pod that is gone does not come back: its successor has another UID
}

// NewPodLister looks at the pods of a namespace. It needs the verb get on pods, and list where many publish; without
// them it says so once and takes everybody to be there.
func NewPodLister(restConfig *rest.Config, namespace, run string) (PodLister, error) {
	client, err := kubeclient.New(restConfig, namespace)
	if err != nil {
		return nil, err
	}
	return &pods{client: client, run: run, gone: map[Publisher]bool{}}, nil
}

func (p *pods) Gone(ctx context.Context, publishers []Publisher) []Publisher {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	unknown := slices.DeleteFunc(slices.Clone(publishers), func(who Publisher) bool { return who.UID == "" || p.isGone(who) })
	if len(unknown) > fewPods && !p.refused.Load() {
		unknown = p.withoutListed(ctx, unknown)
	}
	for _, who := range unknown {
		if p.refused.Load() || ctx.Err() != nil {
			break
		}
		p.lookUp(ctx, who)
	}
	return slices.DeleteFunc(slices.Clone(publishers), func(who Publisher) bool { return !p.isGone(who) })
}

func (p *pods) isGone(who Publisher) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone[who]
}

// withoutListed leaves the publishers that one list of the run's pods does not show.
func (p *pods) withoutListed(ctx context.Context, publishers []Publisher) []Publisher {
	list, err := p.client.ListMeta(ctx, kubeclient.Query{Resource: kubeclient.Pods, Labels: runLabel + "=" + p.run})
	p.note(ctx, err)
	if err != nil {
		return nil
	}
	there := make(map[Publisher]bool, len(list))
	for _, pod := range list {
		there[Publisher{pod.Name, pod.UID}] = true
	}
	return slices.DeleteFunc(publishers, func(who Publisher) bool { return there[who] })
}

func (p *pods) lookUp(ctx context.Context, who Publisher) {
	pod, err := p.client.GetMeta(ctx, kubeclient.Pods, who.Pod)
	p.note(ctx, err)
	if err != nil && !kubeclient.IsObjectNotFound(err, who.Pod) {
		return
	}
	if err != nil || pod.UID != who.UID {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gone[who] = true
	}
}

// note remembers a refusal that stays. Any other error means that it is not known this time.
func (p *pods) note(ctx context.Context, err error) {
	p.mu.Lock()
	mayPass := p.refusals.MayPass(err)
	p.mu.Unlock()
	if apierrors.IsForbidden(err) && !mayPass && !p.refused.Swap(true) {
		klog.FromContext(ctx).V(2).Info("publishers are not checked, because the role does not allow to read pods", "err", err)
	}
}

// goneAmong asks about publishers as they stand in notes ("pod/uid").
func (c Config) goneAmong(ctx context.Context, notes []string) map[string]bool {
	if c.Pods == nil || len(notes) == 0 {
		return nil
	}
	publishers := make([]Publisher, len(notes))
	for i, note := range notes {
		publishers[i].Pod, publishers[i].UID, _ = strings.Cut(note, "/")
	}
	gone := map[string]bool{}
	for _, who := range c.Pods.Gone(ctx, publishers) {
		gone[who.String()] = true
	}
	return gone
}

// see is the store's view of cm, for a reader of keys.
func (s *Store) see(ctx context.Context, cm *configMap, keys ...string) view {
	v := cm.seenBy(s.cfg.Incarnation)
	var notes []string
	for _, key := range keys {
		notes = append(notes, cm.publishers(key)...)
	}
	slices.Sort(notes)
	v.gone = s.cfg.goneAmong(ctx, slices.Compact(notes))
	return v
}
