package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Removal is what Down did.
type Removal struct {
	Removed []string // Kind/namespace/name, in the order of removal
	Absent  []string // kinds that the cluster does not serve, of which there was nothing to remove
}

// stage is a step of Down: what it deletes, and what must be gone afterwards.
type stage struct {
	remove []kind
	gone   []kind
}

// stages take the workloads down first and wait for their pods, so that sidecars still find the ConfigMap and their rights when they
// say goodbye, and no device is taken away from a pod. What a RayJob owns goes with it; its sidecars have nothing to say any more. The
// ConfigMap goes last: it says that the run is being removed. Services, the Jobs of a JobSet and the RayCluster of a RayJob are made, and
// removed, by the controllers.
var stages = []stage{
	{remove: []kind{jobSets, rayJobs, rayClusters, jobs}, gone: []kind{jobSets, rayJobs, rayClusters, jobs, services, pods}},
	sameAs(networkPolicies, computeDomains, resourceClaimTemplates, podGroups, gangs),
	sameAs(roleBindings, roles, serviceAccounts),
	sameAs(configMaps),
}

func sameAs(kinds ...kind) stage { return stage{remove: kinds, gone: kinds} }

// Down removes every object of a run and returns when they and all its pods are gone. A run of which nothing is there is removed already.
// When ctx ends first the error names what is left, and the Removal what was asked to go; to call Down again goes on with it. It reports
// in a line what it waits for.
func (l *Launcher) Down(ctx context.Context, namespace, name string, report func(line string)) (Removal, error) {
	var removal Removal
	switch err := l.markRemoving(ctx, namespace, name); {
	case apierrors.IsForbidden(err): // to free what the run holds matters more
		report(err.Error())
	case err != nil:
		return removal, err
	}
	for _, s := range stages {
		if err := l.removeAll(ctx, s.remove, namespace, name, &removal); err != nil {
			return removal, err
		}
		for _, k := range l.served(s.gone) {
			if err := l.waitGone(ctx, k, namespace, name, report); err != nil {
				return removal, err
			}
		}
	}
	return removal, nil
}

func (l *Launcher) removeAll(ctx context.Context, kinds []kind, namespace, name string, removal *Removal) error {
	for _, k := range l.served(kinds) {
		items, err := l.list(ctx, k, namespace, name)
		if missing := (*MissingKindError)(nil); errors.As(err, &missing) {
			removal.Absent = append(removal.Absent, k.name)
			continue
		}
		if err != nil {
			return err
		}
		for _, item := range items {
			if metav1.GetControllerOf(&item) != nil {
				continue // goes with its owner
			}
			if err := l.remove(ctx, k, item, removal); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes exactly the object that was listed, not one that has taken its name since.
func (l *Launcher) remove(ctx context.Context, k kind, item unstructured.Unstructured, removal *Removal) error {
	id := fmt.Sprintf("%s/%s/%s", k.name, item.GetNamespace(), item.GetName())
	err := l.dynamic.Resource(k.resource).Namespace(item.GetNamespace()).Delete(ctx, item.GetName(), metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground),
		Preconditions:     &metav1.Preconditions{UID: new(item.GetUID())},
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting %s: %w", id, err)
	}
	removal.Removed = append(removal.Removed, id)
	return nil
}

// waitGone watches the objects of a kind until none is left. A watch that is closed is opened again after a new list.
func (l *Launcher) waitGone(ctx context.Context, k kind, namespace, name string, report func(line string)) error {
	said := ""
	resource := l.dynamic.Resource(k.resource).Namespace(namespace)
	for {
		list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: ofRun(name)})
		if apierrors.IsNotFound(err) { // the cluster does not serve the kind
			return nil
		}
		if err != nil {
			return fmt.Errorf("waiting for the %ss of run %s/%s to be gone: %w", k.name, namespace, name, err)
		}
		left := map[types.UID]string{}
		for _, item := range list.Items {
			left[item.GetUID()] = item.GetName()
		}
		if len(left) == 0 {
			return nil
		}
		if line := waitingLine(k, slices.Sorted(maps.Values(left))); line != said {
			report(line)
			said = line
		}
		events, err := resource.Watch(ctx, metav1.ListOptions{LabelSelector: ofRun(name), ResourceVersion: list.GetResourceVersion()})
		if err == nil {
			err = drain(ctx, events, left)
		}
		if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return fmt.Errorf("waiting for %s %s to be gone: %w", k.name, strings.Join(slices.Sorted(maps.Values(left)), ", "), err)
		}
	}
}

// drain follows the events of a watch until nothing is left, the watch is closed, or ctx ends.
func drain(ctx context.Context, events watch.Interface, left map[types.UID]string) error {
	defer events.Stop()
	for len(left) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			item := event.Object.(*unstructured.Unstructured)
			if event.Type == watch.Deleted {
				delete(left, item.GetUID())
			} else {
				left[item.GetUID()] = item.GetName()
			}
		}
	}
	return nil
}
