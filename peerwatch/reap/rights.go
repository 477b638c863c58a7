package reap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// right is a rule that a role must have.
type right struct {
	kubeclient.Resource
	verb, name string
	// clusterWide: it is about no namespace.
	clusterWide bool
}

var nodes = kubeclient.Resource{Version: "v1", Plural: "nodes"}

// rights are what the reaper needs besides list and watch of pods, which it finds out by itself.
func (r *Reaper) rights() []right {
	list := []right{
		{Resource: kubeclient.Pods, verb: "get"},
		{Resource: kubeclient.Events, verb: "list"},
		{Resource: kubeclient.ConfigMaps, verb: "get", name: r.cfg.Book},
	}
	if r.cfg.DryRun {
		return list
	}
	list = append(list,
		right{Resource: kubeclient.Pods, verb: "delete"},
		right{Resource: kubeclient.Events, verb: "create"},
		right{Resource: kubeclient.ConfigMaps, verb: "patch", name: r.cfg.Book},
	)
	if r.cfg.Policy.Exclude == ExcludeTaint {
		list = append(list, right{Resource: nodes, verb: "get", clusterWide: true}, right{Resource: nodes, verb: "patch", clusterWide: true})
	}
	return list
}

// check asks for every right until all were there once: a reaper that lacks one says so when it is started, and not when
// the first pod is stuck.
func (r *Reaper) check(ctx context.Context) (problems []error) {
	if r.checked {
		return nil
	}
	for _, right := range r.rights() {
		if err := r.have(ctx, right); err != nil {
			problems = append(problems, err)
		}
	}
	r.checked = len(problems) == 0
	return problems
}

// have asks the API server whether the reaper has a right.
func (r *Reaper) have(ctx context.Context, want right) error {
	attributes := map[string]any{"verb": want.verb, "group": want.Group, "resource": want.Plural, "name": want.name}
	if !want.clusterWide {
		attributes["namespace"] = r.cfg.Namespace
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": attributes},
	})
	if err != nil {
		return err
	}
	var review struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	req := r.api.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
	if err := do(ctx, req.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(bytes.NewReader(body)), &review); err != nil {
		return fmt.Errorf("asking for the right to %s %s: %w", want.verb, want.Resource, err)
	}
	if !review.Status.Allowed {
		return fmt.Errorf("the role needs verb %s on %s", want.verb, want.rule())
	}
	return nil
}

func (w right) rule() string {
	switch {
	case w.clusterWide:
		return w.Resource.String() + " (a ClusterRole)"
	case w.name != "":
		return w.Resource.String() + " with resourceNames [" + w.name + "]"
	}
	return w.Resource.String()
}
