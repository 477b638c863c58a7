package reap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// DefaultBook is the ConfigMap that the book is kept in.
const DefaultBook = "tandem-reap"

// defaultLookAgain is the pause between two looks at pods that are stuck: their Events are not watched.
const defaultLookAgain = 30 * time.Second

// DefaultSelectors select the pods of tandem's runs and of all RayClusters.
func DefaultSelectors() []string { return []string{labelRun, "ray.io/cluster"} }

// Config says which pods to look after.
type Config struct {
	// Namespace of the pods, and of the book.
	Namespace string
	// Selectors are label selectors; a pod that any of them selects is looked after. Default [DefaultSelectors].
	Selectors []string
	// Book is the name of a ConfigMap that is there already; default [DefaultBook].
	Book   string
	Policy Policy
	// DryRun decides, and does nothing but say so.
	DryRun bool
	// Instance names the reaper in its Events. May be empty.
	Instance string
	// LookAgain is the pause between two looks at pods that are stuck; default 30 seconds.
	LookAgain time.Duration
	// Observer is told what is decided and done; default nobody.
	Observer Observer
}

func (c Config) withDefaults() Config {
	if len(c.Selectors) == 0 {
		c.Selectors = DefaultSelectors()
	}
	if c.Book == "" {
		c.Book = DefaultBook
	}
	if c.LookAgain == 0 {
		c.LookAgain = defaultLookAgain
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}

// validate reports every problem at once.
func (c Config) validate() error {
	problems := []error{c.Policy.validate()}
	if c.Namespace == "" {
		problems = append(problems, errors.New("namespace: not given, and not in a pod"))
	}
	for _, problem := range validation.IsDNS1123Subdomain(c.Book) {
		problems = append(problems, fmt.Errorf("book %q: %s", c.Book, problem))
	}
	for _, selector := range c.Selectors {
		if parsed, err := labels.Parse(selector); err != nil {
			problems = append(problems, fmt.Errorf("selector %q: %w", selector, err))
		} else if parsed.Empty() {
			problems = append(problems, fmt.Errorf("selector %q: selects every pod of the namespace", selector))
		}
	}
	return errors.Join(problems...)
}

// Reaper looks after the pods of one namespace.
type Reaper struct {
	cfg    Config
	client *kubeclient.Client
	api    api
	now    func() time.Time
	// told are the Events that were emitted, so that each is sent once.
	told map[string]bool
	said memory
	// checked: the rights were there once, and opened: the book was. Until then they are looked at though nothing is stuck.
	checked, opened bool
	// excluded is how many nodes were excluded when the book was last read.
	excluded int
}

// New makes a reaper. It sends no request.
func New(cfg Config, restConfig *rest.Config) (*Reaper, error) {
	cfg = cfg.withDefaults()
	client, clientErr := kubeclient.New(restConfig, cfg.Namespace)
	api, apiErr := newAPI(restConfig, cfg.Namespace)
	if err := errors.Join(cfg.validate(), clientErr, apiErr); err != nil {
		return nil, err
	}
	return &Reaper{cfg: cfg, client: client, api: api, now: time.Now, told: map[string]bool{}}, nil
}

// view is what the watches say: the pods of each selector, or why they cannot be seen.
type view []kubeclient.Level[pod]

var errNotLooked = errors.New("not looked yet")

// Run looks after the pods until ctx ends.
func (r *Reaper) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	updates, wait := r.follow(ctx)
	defer func() { stop(); wait() }()
	seen := make(view, len(r.cfg.Selectors))
	for i := range seen {
		seen[i].Err = errNotLooked
	}
	var again time.Time
	for {
		seen = r.await(ctx, seen, updates, again)
		if ctx.Err() != nil {
			return nil
		}
		if !seen.complete() {
			continue
		}
		again = r.turn(ctx, seen)
	}
}

// maxPause is for how long changes are gathered before they are looked at.
const maxPause = time.Second

// await returns what is seen at the time to look again, or soon after a change.
func (r *Reaper) await(ctx context.Context, seen view, updates <-chan func(view) view, again time.Time) view {
	soon := r.now().Add(min(maxPause, r.cfg.LookAgain))
	for {
		select {
		case <-ctx.Done():
			return seen
		case update := <-updates:
			seen = update(seen)
			if again.IsZero() || soon.Before(again) {
				again = soon
			}
		case <-r.after(again):
			return seen
		}
	}
}

// complete: every watch has answered, be it with an error.
func (v view) complete() bool {
	return !slices.ContainsFunc(v, func(level kubeclient.Level[pod]) bool { return level.Err == errNotLooked })
}

// follow watches the pods of every selector until ctx ends. wait returns when all watches have stopped.
func (r *Reaper) follow(ctx context.Context) (updates <-chan func(view) view, wait func()) {
	out := make(chan func(view) view)
	var group sync.WaitGroup
	for i, selector := range r.cfg.Selectors {
		query := kubeclient.Query{Resource: kubeclient.Pods, Labels: selector}
		on := func(level kubeclient.Level[pod]) {
			update := func(old view) view {
				seen := slices.Clone(old)
				seen[i] = level
				return seen
			}
			select {
			case out <- update:
			case <-ctx.Done():
			}
		}
		group.Go(func() { kubeclient.Follow(ctx, r.client, query, on) })
	}
	return out, group.Wait
}

// pods are those of all selectors, each once, and what cannot be seen.
func (v view) pods(selectors []string) (pods []Pod, problems []error) {
	known := map[string]bool{}
	for i, level := range v {
		if level.Err != nil {
			problems = append(problems, fmt.Errorf("cannot see pods (%s): %w", selectors[i], explain(level.Err, "list and watch", kubeclient.Pods.String())))
		}
		for _, item := range level.Items {
			if !known[item.Metadata.UID] {
				known[item.Metadata.UID] = true
				pods = append(pods, item.level())
			}
		}
	}
	return pods, problems
}

// turn looks once at what is stuck, does what is decided, and tells when to look again; zero: when something changes.
func (r *Reaper) turn(ctx context.Context, seen view) time.Time {
	pods, problems := seen.pods(r.cfg.Selectors)
	r.forget(pods)
	problems = append(problems, r.check(ctx)...)
	obs := Observation{Pods: pods}
	stuck := slices.ContainsFunc(pods, r.suspects)
	if stuck || !r.opened {
		var unseen []error
		obs, unseen = r.gather(ctx, pods)
		problems = append(problems, unseen...)
	}
	actions := Decide(r.cfg.Policy, obs, r.now())
	problems = append(problems, r.act(ctx, obs, actions)...)
	if ctx.Err() != nil {
		return time.Time{}
	}
	r.said.report(ctx, r.cfg.DryRun, actions, problems)
	r.cfg.Observer.Looked(actions, r.excluded, problems)
	return r.next(stuck || len(problems) > 0, actions)
}

func (r *Reaper) suspects(pod Pod) bool {
	suspect, _ := pod.suspect(r.cfg.Policy, r.now())
	return suspect
}

// next is when to look again: soon if something is wrong, else when the first pod will have been preparing for too long.
func (r *Reaper) next(wrong bool, actions []Action) time.Time {
	var next time.Time
	if wrong {
		next = r.now().Add(r.cfg.LookAgain)
	}
	for _, action := range actions {
		if !action.At.IsZero() && (next.IsZero() || action.At.Before(next)) {
			next = action.At
		}
	}
	return next
}

// after fires at a time; never at the zero time.
func (r *Reaper) after(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(at.Sub(r.now()))
}

// memory is what was logged last, so that each change of mind is one line.
type memory struct {
	actions map[string]Kind // by UID
	problem string
}

func (m *memory) report(ctx context.Context, dryRun bool, actions []Action, problems []error) {
	log := klog.FromContext(ctx)
	now := map[string]Kind{}
	for _, a := range actions {
		now[a.Pod.UID] = a.Kind
		if a.Kind != Wait && m.actions[a.Pod.UID] != a.Kind {
			log.Info("decided", "action", string(a.Kind), "pod", a.Pod.Name, "node", a.Pod.Node, "gang", a.Pod.Gang, "dryRun", dryRun, "reason", a.Reason)
		}
	}
	m.actions = now
	err := errors.Join(problems...)
	switch {
	case err == nil && m.problem != "":
		log.Info("sees and does everything again")
		m.problem = ""
	case err != nil && err.Error() != m.problem:
		log.Error(err, "cannot do its work")
		m.problem = err.Error()
	}
}
