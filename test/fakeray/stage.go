// Package fakeray makes runs of the raycluster backend on an API server, without KubeRay, a kubelet or Ray: it applies
// what `tandem up` would apply, makes the pods and reports the statuses that KubeRay and the kubelet would, and plays
// what happens to them. It is for tests and benchmarks.
//
// Every run has a namespace of its own. Its RayClusters say that somebody else manages them, so a KubeRay operator that
// is there leaves them alone, and its pods name a scheduler that does not exist.
package fakeray

import (
	"context"
	"fmt"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
	"github.com/tandem-rl/tandem/test/podclient"
)

// Stage is an API server that runs are played on.
type Stage struct {
	client.Client
	cfg *rest.Config
}

// NewStage plays as the administrator of cfg.
func NewStage(cfg *rest.Config) (*Stage, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := rayv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	return &Stage{Client: c, cfg: cfg}, err
}

// Script says what a run looks like.
type Script struct {
	Name     string // of the run and of its namespace
	Clusters int
	// StartupGrace and UnreadyGrace are those of the Run file.
	StartupGrace, UnreadyGrace time.Duration
	// Late are the clusters that are not made yet; see [Run.Create].
	Late []int
	// Nodes are the nodes of head pods, by cluster; see [Stage.CreateNode]. A pod without one is on none.
	Nodes map[int]string
}

// Up makes a run whose clusters are ready, and returns when the API server knows the rights of its pods.
func (s *Stage) Up(ctx context.Context, script Script) (*Run, error) {
	r := &Run{Run: script.run(), stage: s, nodes: script.Nodes, heads: make([]string, script.Clusters)}
	objects, err := manifests.Render(r.Run)
	if err != nil {
		return nil, err
	}
	if err := s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: script.Name}}); err != nil {
		return nil, err
	}
	for _, object := range objects {
		if err := r.apply(ctx, object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for i := range script.Clusters {
		if !slices.Contains(script.Late, i) {
			if err := r.Create(ctx, i); err != nil {
				return nil, err
			}
		}
	}
	return r, r.awaitRights(ctx)
}

// run is the Run file.
func (s Script) run() *v1alpha1.Run {
	run := &v1alpha1.Run{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.Kind,
		Metadata: v1alpha1.Metadata{Name: s.Name, Namespace: s.Name},
		Spec: v1alpha1.Spec{
			Backend: v1alpha1.BackendRayCluster, Image: "tandem.dev/stub-trainer:dev",
			Failure: v1alpha1.Failure{
				StartupGrace: metav1.Duration{Duration: s.StartupGrace}, UnreadyGrace: metav1.Duration{Duration: s.UnreadyGrace},
			},
			Driver: v1alpha1.Driver{Cluster: clusterName(0), Command: []string{"grpo"}},
		},
	}
	for i := range s.Clusters {
		run.Spec.Clusters = append(run.Spec.Clusters, v1alpha1.Cluster{Name: clusterName(i)})
	}
	run.SetDefaults()
	return run
}

func clusterName(i int) string { return fmt.Sprintf("c%d", i) }

// apply makes one object. RayClusters are kept for [Run.Create]; the driver's Job makes no pods.
func (r *Run) apply(ctx context.Context, object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "RayCluster":
		cluster := &rayv1.RayCluster{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, cluster); err != nil {
			return err
		}
		elsewhere := "kueue.x-k8s.io/multikueue"
		cluster.Spec.ManagedBy = &elsewhere
		r.clusters = append(r.clusters, cluster)
		return nil
	case "Job":
		if err := unstructured.SetNestedField(object.Object, int64(0), "spec", "parallelism"); err != nil {
			return err
		}
	}
	return r.stage.Create(ctx, object)
}

// CreateNode makes a node that is ready, and whose kubelet says nothing from then on: a node that is being lost.
func (s *Stage) CreateNode(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.Create(ctx, node); err != nil {
		return err
	}
	now := metav1.Now()
	return s.Status().Patch(ctx, node, merge(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
	}}}}))
}

// awaitRights waits until the head's account may do the last thing that its role allows on the last cluster.
func (r *Run) awaitRights(ctx context.Context) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.User(),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Metadata.Namespace, Verb: "delete", Group: "ray.io", Resource: "rayclusters", Name: r.Cluster(len(r.clusters) - 1),
		},
	}}
	err := podclient.Until(ctx, func() bool {
		answer := review.DeepCopy()
		return r.stage.Create(ctx, answer) == nil && answer.Status.Allowed
	})
	if err != nil {
		return fmt.Errorf("%s may not delete RayClusters: %w", r.User(), err)
	}
	return nil
}

// User is the account of the run's heads, as a user.
func (r *Run) User() string {
	return "system:serviceaccount:" + r.Metadata.Namespace + ":" + v1alpha1.PeerwatchAccountName(r.Metadata.Name)
}

// Token is one of the account of the run's heads. With a Secret it dies with that.
func (r *Run) Token(ctx context.Context, boundTo *corev1.Secret) (string, error) {
	life := int64(time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
	if boundTo != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Secret", Name: boundTo.Name, UID: boundTo.UID,
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: v1alpha1.PeerwatchAccountName(r.Metadata.Name), Namespace: r.Metadata.Namespace,
	}}
	err := r.stage.SubResource("token").Create(ctx, account, request)
	return request.Status.Token, err
}
