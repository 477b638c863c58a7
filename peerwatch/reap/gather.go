package reap

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// gather reads from the server what a decision about stuck pods rests on: the pods themselves, since a watch may lag,
// their Events, and the book.
func (r *Reaper) gather(ctx context.Context, pods []Pod) (Observation, []error) {
	var obs Observation
	var problems []error
	for _, p := range pods {
		if r.suspects(p) {
			fresh, found, err := r.look(ctx, p)
			if err != nil {
				problems = append(problems, fmt.Errorf("pod %s: %w", p.Name, err))
			}
			if !found {
				continue
			}
			p = fresh
		}
		obs.Pods = append(obs.Pods, p)
	}
	var err error
	if obs.Book, err = r.open(ctx); err != nil {
		obs.BookBlind = err.Error()
		problems = append(problems, err)
	}
	return obs, problems
}

// look reads one pod and its Events. A pod that cannot be read is blind; one that has gone, or has been made again, is not
// found.
func (r *Reaper) look(ctx context.Context, p Pod) (_ Pod, found bool, err error) {
	var item pod
	err = r.client.Get(ctx, kubeclient.Pods, p.Name, &item)
	if kubeclient.IsObjectNotFound(err, p.Name) || (err == nil && item.Metadata.UID != p.UID) {
		return Pod{}, false, nil
	}
	if err != nil {
		err = explain(err, "get", kubeclient.Pods.String())
		p.Blind = err.Error()
		return p, true, err
	}
	p = item.level()
	events, err := r.api.events(ctx, p.UID)
	if err != nil {
		err = explain(err, "list", kubeclient.Events.String())
		p.Blind = err.Error()
		return p, true, err
	}
	p.Cause = causeOf(p.UID, events, r.cfg.Policy.Causes)
	return p, true, nil
}

func (r *Reaper) open(ctx context.Context) (Book, error) {
	var cm configMap
	err := r.client.Get(ctx, kubeclient.ConfigMaps, r.cfg.Book, &cm)
	if kubeclient.IsObjectNotFound(err, r.cfg.Book) {
		return Book{}, fmt.Errorf("book: ConfigMap %s does not exist; make it with: kubectl -n %s create configmap %s", r.cfg.Book, r.cfg.Namespace, r.cfg.Book)
	}
	if err != nil {
		return Book{}, fmt.Errorf("book: %w", explain(err, "get", r.bookRule()))
	}
	book, err := openBook(cm)
	if err != nil {
		return Book{}, fmt.Errorf("book: ConfigMap %s: %w", r.cfg.Book, err)
	}
	r.opened, r.excluded = true, book.excluded()
	return book, nil
}

// bookRule names the book as a rule of a role does.
func (r *Reaper) bookRule() string { return "configmaps with resourceNames [" + r.cfg.Book + "]" }

// explain names the rule that a refusal asks for.
func explain(err error, verb, resource string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("the role needs verb %s on %s: %w", verb, resource, err)
	}
	return err
}
