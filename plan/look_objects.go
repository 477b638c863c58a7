package plan

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/manifests/kai"
)

type unstructuredObject = unstructured.Unstructured

// The resources that are looked at by name.
var (
	queueResource    = schema.GroupVersionResource{Group: "scheduling.run.ai", Version: "v2", Resource: "queues"}
	podGroupKind     = schema.GroupVersionKind{Group: "scheduling.run.ai", Version: "v2alpha2", Kind: "PodGroup"}
	topologyResource = schema.GroupVersionResource{Group: "kai.scheduler", Version: "v1alpha1", Resource: "topologies"}
	storageResource  = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
)

// referred is where each kind of reference is found.
var referred = map[string]struct {
	schema.GroupVersionResource
	namespaced bool
}{
	kindSecret:        {schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, true},
	kindConfigMap:     {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	kindVolumeClaim:   {schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, true},
	kindPriorityClass: {schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}, false},
	kindRuntimeClass:  {schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}, false},
	kindDeviceClass:   {schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}, false},
	kindClaimTemplate: {schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"}, true},
}

// preferred is the version of a group that the server prefers; the given one if it does not say.
func (l *looker) preferred(resource schema.GroupVersionResource) schema.GroupVersionResource {
	groups, err := l.typed.Discovery().ServerGroups()
	if err != nil {
		return resource // the question itself will say what is wrong
	}
	for _, group := range groups.Groups {
		if group.Name == resource.Group && group.PreferredVersion.Version != "" {
			resource.Version = group.PreferredVersion.Version
		}
	}
	return resource
}

func (l *looker) reference(ctx context.Context, ref *Reference) {
	where := referred[ref.Kind]
	resource := where.GroupVersionResource
	if resource.Group == "resource.k8s.io" {
		resource = l.preferred(resource)
	}
	var seen Seen[*unstructuredObject]
	if where.namespaced {
		seen.Value, seen.Err = l.dynamic.Resource(resource).Namespace(l.plan.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	} else {
		seen.Value, seen.Err = l.dynamic.Resource(resource).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if ref.Kind == kindVolumeClaim && seen.Err == nil {
		l.storageClass(ctx, seen.Value)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sight.Refs[ref.Kind+" "+ref.Name] = seen
}

// storageClass notes when the volumes of a claim's class are bound. Not to know it is no harm.
func (l *looker) storageClass(ctx context.Context, claim *unstructuredObject) {
	name, _, err := unstructured.NestedString(claim.Object, "spec", "storageClassName")
	if err != nil || name == "" {
		return
	}
	class, err := l.dynamic.Resource(storageResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	mode, _, err := unstructured.NestedString(class.Object, "volumeBindingMode")
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sight.BindingModes[name] = mode
}

func (l *looker) access(ctx context.Context, access *Access) {
	resource := schema.ParseGroupResource(access.Resource)
	review, err := l.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: l.plan.Namespace, Verb: access.Verb, Group: resource.Group, Resource: resource.Resource,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		access.Allowed.Err = err
		return
	}
	access.Allowed.Value = review.Status.Allowed
}

func (l *looker) rules(ctx context.Context) {
	review, err := l.typed.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: l.plan.Namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		l.sight.Rules.Err = err
		return
	}
	l.sight.Rules.Value = review.Status
}

func (l *looker) queues(ctx context.Context) {
	list, err := l.dynamic.Resource(queueResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.sight.Queues.Err = err
		return
	}
	for i := range list.Items {
		var queue QueueSeen
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &queue); err != nil {
			l.sight.Queues.Err = fmt.Errorf("reading Queue %s: %w", list.Items[i].GetName(), err)
			return
		}
		l.sight.Queues.Value = append(l.sight.Queues.Value, queue)
	}
}

var errNotAsked = errors.New("not asked")

func (l *looker) topology(ctx context.Context) {
	wanted := l.plan.run.Spec.Scheduling.Topology
	if wanted == nil {
		l.sight.Topology.Err = errNotAsked
		return
	}
	object, err := l.dynamic.Resource(topologyResource).Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		l.sight.Topology.Err = err
		return
	}
	topology := &kai.Topology{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, topology); err != nil {
		l.sight.Topology.Err = fmt.Errorf("reading Topology %s: %w", wanted.Name, err)
		return
	}
	l.sight.Topology.Value = topology
}

func (l *looker) localQueue(ctx context.Context) {
	resource := l.preferred(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "localqueues"})
	l.sight.LocalQueue.Value, l.sight.LocalQueue.Err = l.dynamic.Resource(resource).Namespace(l.plan.Namespace).Get(ctx, l.plan.Queue, metav1.GetOptions{})
}
