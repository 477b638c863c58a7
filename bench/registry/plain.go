package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// plain is a client without this library.
type plain struct {
	rest      rest.Interface
	namespace string
	object    string
}

func (s *site) newPlain(ctx context.Context) (*plain, error) {
	client, err := typedcorev1.NewForConfig(s.newPod())
	if err != nil {
		return nil, err
	}
	p := &plain{rest: client.RESTClient(), namespace: s.namespace, object: s.cfg.Name()}
	_, err = p.read(ctx) // opens the connection
	return p, err
}

// plainly is a field of such clients, all on the run's ConfigMap.
func plainly(write func(p *plain, ctx context.Context, key, value string) error) func(context.Context, *site, int) (*field, error) {
	return func(ctx context.Context, s *site, n int) (*field, error) {
		f := &field{writers: make([]func(context.Context) error, n)}
		err := inParallel(n, func(i int) error {
			p, err := s.newPlain(ctx)
			f.writers[i] = func(ctx context.Context) error { return write(p, ctx, key(i), value(i)) }
			return err
		})
		return f, err
	}
}

// fiveTries is what NeMo-RL's class does: read all, change one key, write all with the resourceVersion; if somebody else
// wrote in between, again at once, five times at most.
func (p *plain) fiveTries(ctx context.Context, key, value string) (err error) {
	for range 5 {
		var cm *corev1.ConfigMap
		if cm, err = p.read(ctx); err != nil {
			return err
		}
		if cm.Data == nil {
			cm.Data = map[string]string{}
		}
		cm.Data[key] = value
		if err = p.merge(ctx, cm.ResourceVersion, cm.Data); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// blindPatch says nothing but the key. The API server retries it inside the request.
func (p *plain) blindPatch(ctx context.Context, key, value string) error {
	return p.merge(ctx, "", map[string]string{key: value})
}

func (p *plain) read(ctx context.Context) (*corev1.ConfigMap, error) {
	cm := &corev1.ConfigMap{}
	return cm, p.to("GET").Do(ctx).Into(cm)
}

// merge writes keys by a JSON merge patch.
func (p *plain) merge(ctx context.Context, resourceVersion string, data map[string]string) error {
	type metadata struct {
		ResourceVersion string `json:"resourceVersion,omitempty"`
	}
	body, err := json.Marshal(struct {
		Metadata metadata          `json:"metadata,omitzero"`
		Data     map[string]string `json:"data"`
	}{metadata{resourceVersion}, data})
	if err != nil {
		return err
	}
	return p.to("PATCH").SetHeader("Content-Type", string(types.MergePatchType)).Body(body).Do(ctx).Error()
}

func (p *plain) to(verb string) *rest.Request {
	return p.rest.Verb(verb).Namespace(p.namespace).Resource("configmaps").Name(p.object).MaxRetries(0)
}
