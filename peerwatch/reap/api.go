package reap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// api does the few requests that package kubeclient does not know: Events about one object, and nodes, which are in no
// namespace.
type api struct {
	rest      rest.Interface
	namespace string
}

func newAPI(cfg *rest.Config, namespace string) (api, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(cfg)
	c.GroupVersion = &schema.GroupVersion{Version: "v1"}
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.QPS = -1 // a reaper asks only about what is stuck
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return api{}, fmt.Errorf("client for %s: %w", cfg.Host, err)
	}
	return api{rest: client, namespace: namespace}, nil
}

// events reads the Events about one incarnation of an object.
func (a api) events(ctx context.Context, uid string) ([]event, error) {
	var list struct {
		Items []event `json:"items"`
	}
	r := kubeclient.Events
	req := a.rest.Get().AbsPath("/apis", r.Group, r.Version, "namespaces", a.namespace, r.Plural)
	err := do(ctx, req.Param("fieldSelector", "regarding.uid="+uid), &list)
	return list.Items, err
}

// node is a part of a Node. Taints are kept as they came: those of others must not lose a field.
type node struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Taints []json.RawMessage `json:"taints"`
	} `json:"spec"`
}

// taint puts [Taint] on a node, if no taint with its key is there. The list of taints is one value for the API server, so
// the change is refused (a conflict) if anybody else changed the node in between.
func (a api) taint(ctx context.Context, name string) error {
	var n node
	if err := do(ctx, a.node("GET", name), &n); err != nil {
		return err
	}
	for _, raw := range n.Spec.Taints {
		var has struct{ Key string }
		if err := json.Unmarshal(raw, &has); err != nil {
			return err
		}
		if has.Key == TaintKey {
			return nil
		}
	}
	ours, err := json.Marshal(map[string]string{"key": TaintKey, "value": TaintValue, "effect": TaintEffect})
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": n.Metadata.ResourceVersion},
		"spec":     map[string]any{"taints": append(n.Spec.Taints, ours)},
	})
	if err != nil {
		return err
	}
	req := a.node("PATCH", name).SetHeader("Content-Type", string(types.MergePatchType)).Body(bytes.NewReader(body))
	return do(ctx, req, nil)
}

func (a api) node(verb, name string) *rest.Request {
	return a.rest.Verb(verb).AbsPath("/api", "v1", "nodes", name)
}

func do(ctx context.Context, req *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, kubeclient.RequestTimeout)
	defer cancel()
	body, err := req.MaxRetries(0).Do(ctx).Raw()
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}
