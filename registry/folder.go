package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Folder carries what publishers wrote to the shards of a run into the run's ConfigMap, for readers that know only
// that one. Exactly one place of a run has to run it; a second one costs writes and does no harm.
//
// It watches every shard, and writes in batches: whatever is new when the last write has been answered goes into the
// next. It works on levels, so one that starts anew ends at the same result. Keys and members that somebody wrote
// directly to the run's ConfigMap stay; see the package comment.
type Folder struct {
	store     *Store
	lookAgain time.Duration
	shards    []*configMap // guarded by mu
	run       *configMap   // guarded by mu: the newest that is known
	mu        sync.Mutex
	dirty     chan struct{}   // holds one token when something is new
	said      []string        // keys about which it has complained
	gone      map[string]bool // guarded by mu: publishers whose pod is gone
	reading   trouble
	writing   trouble
}

// NewFolder makes the folder of cfg.Shards shards. It sends no request.
func NewFolder(cfg Config, restConfig *rest.Config) (*Folder, error) {
	if cfg.Shards == 0 {
		return nil, errors.New("a folder needs shards")
	}
	store, err := New(cfg, restConfig)
	if err != nil {
		return nil, err
	}
	return &Folder{
		store: store, shards: make([]*configMap, cfg.Shards), dirty: make(chan struct{}, 1), lookAgain: lookAgain,
		reading: trouble{fails: "cannot read", works: "reads everything again"},
		writing: trouble{fails: "cannot fold yet", works: "folds again"},
	}, nil
}

// Run folds until ctx ends.
func (f *Folder) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(f.follow(ctx, f.store.Name(), f.sawRun))
	for i := range f.shards {
		group.Go(f.follow(ctx, f.store.cfg.ShardName(i), func(cm *configMap) { f.shards[i] = cm }))
	}
	group.Go(func() error { return f.foldWhile(ctx) })
	if f.store.cfg.Pods != nil {
		group.Go(func() error { return f.lookForGone(ctx) })
	}
	return group.Wait()
}

// follow keeps what is known about one ConfigMap up to date. One that is not there is empty; one that cannot be read
// stays as it was last seen.
func (f *Folder) follow(ctx context.Context, name string, saw func(*configMap)) func() error {
	return func() error {
		query := kubeclient.Query{Resource: kubeclient.ConfigMaps, Name: name}
		kubeclient.Follow(ctx, f.store.client, query, func(level kubeclient.Level[configMap]) {
			f.reading.note(ctx, name, f.store.translate("watch", name, level.Err))
			if level.Err != nil {
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			cm := &configMap{}
			if len(level.Items) > 0 {
				cm = &level.Items[0]
			}
			saw(cm)
			f.wake()
		})
		return nil
	}
}

func (f *Folder) wake() {
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// sawRun needs f.mu. What the watch tells may be older than the answer to the last write.
func (f *Folder) sawRun(cm *configMap) {
	if f.run == nil || cm.Metadata.ResourceVersion == "" || !older(cm.Metadata.ResourceVersion, f.run.Metadata.ResourceVersion) {
		f.run = cm
	}
}

// older compares resourceVersions, which are growing numbers.
func older(a, b string) bool {
	return len(a) < len(b) || (len(a) == len(b) && a < b)
}

// lookAgain is how often the pods of publishers are looked at where the role allows it.
const lookAgain = 30 * time.Second

func (f *Folder) foldWhile(ctx context.Context) error {
	var retry kubeclient.Backoff
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.dirty:
		}
		err := f.once(ctx)
		switch {
		case err == nil:
			f.writing.note(ctx, f.store.Name(), nil)
			retry.Reset()
			continue
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrConflict):
			f.reread(ctx) // somebody else wrote to the run's ConfigMap
		default:
			f.writing.note(ctx, f.store.Name(), err)
			_ = retry.Wait(ctx, err) // ends with ctx; so does the loop
		}
		f.wake()
	}
}

// lookForGone notices publishers that went without a farewell.
func (f *Folder) lookForGone(ctx context.Context) error {
	ticker := time.NewTicker(f.lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		gone := f.store.cfg.goneAmong(ctx, f.publishers())
		f.mu.Lock()
		if len(gone) != len(f.gone) {
			f.wake()
		}
		f.gone = gone
		f.mu.Unlock()
	}
}

// publishers are all that wrote to the shards.
func (f *Folder) publishers() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, shard := range f.shards {
		if shard == nil {
			continue
		}
		for key := range shard.Data {
			all = append(all, shard.publishers(key)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// once writes what is new, if anything is.
func (f *Folder) once(ctx context.Context) error {
	f.mu.Lock()
	run, shards, gone := f.run, slices.Clone(f.shards), f.gone
	f.mu.Unlock()
	if run == nil || run.Metadata.ResourceVersion == "" {
		return nil // not there: its watch tells when it is
	}
	fold := newFold(run, shards, f.home, gone)
	e := fold.decide()
	f.complain(ctx, fold.skip)
	if !e.changes(run) {
		return nil
	}
	after, err := f.write(ctx, run, e)
	if err != nil {
		return fmt.Errorf("fold: %w", err)
	}
	f.mu.Lock()
	f.sawRun(after)
	f.mu.Unlock()
	return nil
}

func (f *Folder) write(ctx context.Context, run *configMap, e edit) (*configMap, error) {
	if err := e.checkSize(run); err != nil {
		return nil, fmt.Errorf("%s: %w", f.store, err)
	}
	var after configMap
	name := f.store.Name()
	err := f.store.client.MergePatch(ctx, kubeclient.ConfigMaps, name, e.patch(run.Metadata.ResourceVersion), &after)
	return &after, f.store.translate("patch", name, err)
}

// reread is for after a conflict, when the watch may take a moment to tell.
func (f *Folder) reread(ctx context.Context) {
	cm, err := f.store.readObject(ctx, f.store.Name())
	if err != nil {
		return // the next try says why
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sawRun(cm)
}

func (f *Folder) home(key string) int { return f.store.cfg.home(key, "") }

// complain says once which keys hide what the shards hold.
func (f *Folder) complain(ctx context.Context, skipped []string) {
	for _, key := range skipped {
		if !slices.Contains(f.said, key) {
			klog.FromContext(ctx).Info("not folded: the key was written directly to the run's ConfigMap; delete it there", "key", key)
		}
	}
	f.said = skipped
}
