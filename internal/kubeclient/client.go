// Package kubeclient speaks to an API server about a few named objects, and stays small enough for a sidecar.
//
// It decodes JSON straight into the caller's own structs, so a binary carries neither a typed clientset nor the
// generated API types (34 MiB of binary; this is a quarter of it). Authentication and TLS are client-go's (package
// rest); a token from a file is read again after a 401.
//
// It promises: every request is bounded by ctx and by [RequestTimeout]; an error answers to the predicates of
// apimachinery's api/errors; [Follow] reports levels, never single events. It does not retry a single call:
// [Backoff] and [Retryable] are for the caller, who knows what a retry means.
package kubeclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// RequestTimeout bounds one request other than a watch, so that a server that hangs is tried again.
const RequestTimeout = 30 * time.Second

// Resource names a kind of object as its URL does.
type Resource struct{ Group, Version, Plural string }

// The resources that a run's sidecars use.
var (
	ConfigMaps  = Resource{"", "v1", "configmaps"}
	Pods        = Resource{"", "v1", "pods"}
	Jobs        = Resource{"batch", "v1", "jobs"}
	RayClusters = Resource{"ray.io", "v1", "rayclusters"}
	Events      = Resource{"events.k8s.io", "v1", "events"}
)

// String is the form that error messages and RBAC rules use: rayclusters.ray.io.
func (r Resource) String() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}.String()
}

// Client reads and changes objects of one namespace.
type Client struct {
	rest      rest.Interface
	namespace string
}

// New makes a client. It sends no request.
func New(cfg *rest.Config, namespace string) (*Client, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	c := rest.CopyConfig(cfg)
	c.GroupVersion = &schema.GroupVersion{Version: "v1"}
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c.QPS = -1 // callers back off by themselves, with jitter
	c.DisableCompression = true
	rereadToken(c)
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", cfg.Host, err)
	}
	return &Client{rest: client, namespace: namespace}, nil
}

// rereadToken makes the client read a token file again as soon as the server refuses what was in it. By itself client-go
// reads it once a minute.
func rereadToken(cfg *rest.Config) {
	if cfg.BearerTokenFile == "" {
		return
	}
	cfg.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(cfg.BearerTokenFile)))
	cfg.BearerToken, cfg.BearerTokenFile = "", ""
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, r Resource, name string, into any) error {
	return c.do(ctx, c.request("GET", r, name), into)
}

// Create makes an object, which says its own apiVersion and kind.
func (c *Client) Create(ctx context.Context, r Resource, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	req := c.request("POST", r, "").SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	return c.do(ctx, req, nil)
}

// MergePatch applies a JSON merge patch (RFC 7386) and reads the object that results; into may be nil.
func (c *Client) MergePatch(ctx context.Context, r Resource, name string, patch, into any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	req := c.request("PATCH", r, name).SetHeader("Content-Type", string(types.MergePatchType)).Body(body)
	return c.do(ctx, req, into)
}

// Delete deletes an object in the background. With a uid it deletes that very object or nothing (a conflict error).
func (c *Client) Delete(ctx context.Context, r Resource, name string, uid string) error {
	background := metav1.DeletePropagationBackground
	opts := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		PropagationPolicy: &background,
	}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: (*types.UID)(&uid)}
	}
	body, err := json.Marshal(opts)
	if err != nil {
		return err
	}
	req := c.request("DELETE", r, name).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	return c.do(ctx, req, nil)
}

// Meta is what there is to know about an object without its content.
type Meta struct{ Name, UID string }

// GetMeta reads one object's metadata.
func (c *Client) GetMeta(ctx context.Context, r Resource, name string) (Meta, error) {
	var m meta
	err := c.do(ctx, onlyMeta(c.request("GET", r, name), "PartialObjectMetadata"), &m)
	return Meta{m.Metadata.Name, m.Metadata.UID}, err
}

// ListMeta reads the metadata of the objects that q selects.
func (c *Client) ListMeta(ctx context.Context, q Query) ([]Meta, error) {
	var page struct {
		Items []meta `json:"items"`
	}
	err := c.do(ctx, onlyMeta(q.restrict(c.request("GET", q.Resource, "")), "PartialObjectMetadataList"), &page)
	metas := make([]Meta, len(page.Items))
	for i, m := range page.Items {
		metas[i] = Meta{m.Metadata.Name, m.Metadata.UID}
	}
	return metas, err
}

// onlyMeta asks the server to leave out all but the metadata.
func onlyMeta(req *rest.Request, kind string) *rest.Request {
	return req.SetHeader("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1")
}

// LogOptions select a part of a container's log.
type LogOptions struct {
	Container string
	// Previous: the log of the container's last instance, which ended.
	Previous bool
	// Lines from the end; of these the server sends at most Bytes, from the first on.
	Lines, Bytes int
}

// Log reads a container's log.
func (c *Client) Log(ctx context.Context, pod string, o LogOptions) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	req := c.request("GET", Pods, pod).SubResource("log").
		Param("container", o.Container).
		Param("previous", strconv.FormatBool(o.Previous)).
		Param("tailLines", strconv.Itoa(o.Lines)).
		Param("limitBytes", strconv.Itoa(o.Bytes))
	return req.Do(ctx).Raw()
}

// list reads the objects that q selects.
func (c *Client) list(ctx context.Context, q Query, into any) error {
	return c.do(ctx, q.restrict(c.request("GET", q.Resource, "")), into)
}

// watch opens a stream of events after resourceVersion. The caller closes it.
func (c *Client) watch(ctx context.Context, q Query, resourceVersion string) (io.ReadCloser, error) {
	req := q.restrict(c.request("GET", q.Resource, ""))
	return req.Param("watch", "1").Param("resourceVersion", resourceVersion).Stream(ctx)
}

func (c *Client) request(verb string, r Resource, name string) *rest.Request {
	path := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		path = []string{"/api", r.Version}
	}
	path = append(path, "namespaces", c.namespace, r.Plural)
	if name != "" {
		path = append(path, name)
	}
	return c.rest.Verb(verb).AbsPath(path...).MaxRetries(0)
}

func (c *Client) do(ctx context.Context, req *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	result := req.Do(ctx)
	if err := result.Error(); err != nil {
		return err
	}
	body, err := result.Raw()
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}
