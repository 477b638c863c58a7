package launch

import (
	"context"
	"errors"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// snapshot is what a cluster holds of one run at one time.
type snapshot struct {
	name, namespace string

	configMap   *corev1.ConfigMap
	jobSet      *v1alpha2.JobSet
	rayJob      *rayv1.RayJob
	rayClusters []rayv1.RayCluster
	driver      *batchv1.Job // the Job of the raycluster backend
	pods        []corev1.Pod
}

// empty tells whether nothing is left that describes the run.
func (s *snapshot) empty() bool {
	return s.configMap == nil && s.jobSet == nil && s.rayJob == nil && s.driver == nil && len(s.rayClusters) == 0
}

// backend is what the ConfigMap says, or else what the workloads show.
func (s *snapshot) backend() v1alpha1.Backend {
	if s.configMap != nil && s.configMap.Labels[v1alpha1.LabelBackend] != "" {
		return v1alpha1.Backend(s.configMap.Labels[v1alpha1.LabelBackend])
	}
	switch {
	case s.jobSet != nil:
		return v1alpha1.BackendJobSet
	case s.rayJob != nil:
		return v1alpha1.BackendRayJob
	default:
		return v1alpha1.BackendRayCluster
	}
}

// read lists the run's objects. A kind that the cluster does not serve has none.
func (l *Launcher) read(ctx context.Context, namespace, name string) (*snapshot, error) {
	s := &snapshot{name: name, namespace: namespace}
	for _, k := range []kind{configMaps, jobSets, rayJobs, rayClusters, jobs, pods} {
		items, err := l.list(ctx, k, namespace, name)
		if missing := (*MissingKindError)(nil); errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.add(k, items); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// list returns the objects of a kind that belong to a run; a *MissingKindError where the cluster does not serve the kind.
func (l *Launcher) list(ctx context.Context, k kind, namespace, name string) ([]unstructured.Unstructured, error) {
	list, err := l.dynamic.Resource(k.resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: ofRun(name)})
	switch {
	case apierrors.IsNotFound(err):
		return nil, &MissingKindError{Kind: k.name, Err: err}
	case err != nil:
		return nil, fmt.Errorf("listing the %ss of run %s/%s: %w", k.name, namespace, name, err)
	}
	return list.Items, nil
}

// add puts the objects of one kind into the snapshot.
func (s *snapshot) add(k kind, items []unstructured.Unstructured) (err error) {
	switch k {
	case configMaps:
		s.configMap, err = named[corev1.ConfigMap](items, v1alpha1.ConfigMapName(s.name))
	case jobSets:
		s.jobSet, err = named[v1alpha2.JobSet](items, v1alpha1.JobSetName(s.name))
	case rayJobs:
		s.rayJob, err = named[rayv1.RayJob](items, v1alpha1.RayJobName(s.name))
	case jobs:
		s.driver, err = named[batchv1.Job](items, v1alpha1.DriverJobName(s.name))
	case rayClusters:
		s.rayClusters, err = typed[rayv1.RayCluster](items)
	case pods:
		s.pods, err = typed[corev1.Pod](items)
	}
	return err
}

// named is the object of a name, or nil.
func named[T any](items []unstructured.Unstructured, name string) (*T, error) {
	for _, item := range items {
		if item.GetName() == name {
			return convert[T](item)
		}
	}
	return nil, nil
}

func typed[T any](items []unstructured.Unstructured) ([]T, error) {
	out := make([]T, 0, len(items))
	for _, item := range items {
		object, err := convert[T](item)
		if err != nil {
			return nil, err
		}
		out = append(out, *object)
	}
	return out, nil
}

func convert[T any](item unstructured.Unstructured) (*T, error) {
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, object); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", item.GetKind(), item.GetName(), err)
	}
	return object, nil
}
