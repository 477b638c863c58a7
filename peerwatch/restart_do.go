package peerwatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// restartRun begins a restart, or finishes one, and does not stop with ctx: the watcher's own pod goes last. Whoever is
// stopped in the middle is replaced by anybody who sees what is left; every step may be done twice.
//
// All pods of the clusters are deleted, not the heads alone: Ray's workers do not rejoin another head (kuberay#1141).
func (w *Watcher) restartRun(ctx context.Context, action Action, obs Observation) (Action, Observation) {
	ctx = context.WithoutCancel(ctx)
	action.At = w.now().Add(finishAfter)
	if action.begins > 0 {
		begun, ok := w.begin(ctx, action, obs)
		if !ok {
			return action, obs
		}
		w.tell(ctx, action, obs)
		obs = begun
	}
	steps := []Step{w.step(ctx, task{kind: StepReset, name: "begin incarnation " + obs.Registry.Restart.Incarnation, timeout: w.cfg.StepTimeout, do: func(ctx context.Context) error {
		reset := func() (done bool, err error) { return true, w.store.Reset(ctx, obs.Registry.Restart.Incarnation) }
		return errors.Join(w.persist(ctx, reset), w.forgetError(ctx, obs))
	}})}
	var others, own []task
	for _, pod := range obs.formerPods() {
		deletion := w.deletion(kubeclient.Pods, pod.Name, pod.UID)
		if pod.Name == w.cfg.Pod.Pod {
			own = append(own, deletion)
		} else {
			others = append(others, deletion)
		}
	}
	steps = append(steps, w.atOnce(ctx, others)...)
	for _, step := range steps {
		if step.Err != nil {
			return action, obs // whoever is asked to finish needs this watcher
		}
	}
	w.atOnce(ctx, own)
	return action, obs
}

// begin counts the restart. Of several watchers one succeeds; the others see what it has begun.
func (w *Watcher) begin(ctx context.Context, action Action, obs Observation) (Observation, bool) {
	plan := obs.plan(action.Reason, action.begins, time.Now())
	step := w.step(ctx, task{kind: StepRestart, name: fmt.Sprintf("begin restart %d", plan.Count), timeout: w.cfg.StepTimeout, do: func(ctx context.Context) error {
		return w.persist(ctx, func() (done bool, err error) {
			var cm configMap
			done, err = w.tryBegin(ctx, plan, &cm)
			if done && err == nil {
				obs = obs.foldRegistry([]configMap{cm}, nil, w.now())
			}
			return done, err
		})
	}})
	return obs, step.Err == nil
}

var errOvertaken = errors.New("another watcher was faster, or the run is being removed")

func (w *Watcher) tryBegin(ctx context.Context, plan Restart, cm *configMap) (done bool, err error) {
	name := w.store.Name()
	if err := w.client.Get(ctx, kubeclient.ConfigMaps, name, cm); err != nil {
		return !kubeclient.Retryable(err), fmt.Errorf("configmap %s: %w", name, err)
	}
	if cm.Metadata.Annotations[annotationRemoving] != "" || cm.restart().Count != plan.Count-1 {
		return true, errOvertaken
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return true, err
	}
	err = w.client.MergePatch(ctx, kubeclient.ConfigMaps, name, map[string]any{"metadata": map[string]any{
		"resourceVersion": cm.Metadata.ResourceVersion,
		"annotations":     map[string]string{RestartAnnotation: string(text)},
	}}, cm)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsForbidden(err):
		return true, missing("patch", kubeclient.ConfigMaps, name, err)
	}
	return !kubeclient.Retryable(err) && !apierrors.IsConflict(err), fmt.Errorf("configmap %s: %w", name, err)
}

// forgetError removes what a pod of before reported after the new incarnation had begun.
func (w *Watcher) forgetError(ctx context.Context, obs Observation) error {
	return w.persist(ctx, func() (done bool, err error) {
		var cm configMap
		if err := w.client.Get(ctx, kubeclient.ConfigMaps, w.store.Name(), &cm); err != nil {
			return !kubeclient.Retryable(err), err
		}
		if _, stale := cm.failure(obs.Registry.Restart.formers()); stale == "" {
			return true, nil
		}
		err = w.client.MergePatch(ctx, kubeclient.ConfigMaps, w.store.Name(), map[string]any{
			"metadata": map[string]any{"resourceVersion": cm.Metadata.ResourceVersion, "annotations": map[string]any{annotationErrorBy: nil}},
			"data":     map[string]any{registry.ErrorKey: nil},
		}, nil)
		return err == nil || !(kubeclient.Retryable(err) || apierrors.IsConflict(err)), err
	})
}
