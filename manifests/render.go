// Package manifests renders a Run to Kubernetes objects.
//
// It promises that the same Run gives the same bytes, that what `tandem render` prints is what `tandem up` applies, and that the
// objects are ordered so that nothing refers to one that comes later: accounts and rights, the ConfigMap that the pods expect to find,
// then the workloads. It reads nothing but the Run.
//
//	objects, err := manifests.Render(run)
//	err = manifests.WriteYAML(os.Stdout, objects)
package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/devices"
	"github.com/tandem-rl/tandem/manifests/jobset"
	"github.com/tandem-rl/tandem/manifests/network"
	"github.com/tandem-rl/tandem/manifests/pod"
	"github.com/tandem-rl/tandem/manifests/raycluster"
	"github.com/tandem-rl/tandem/manifests/rayjob"
	"github.com/tandem-rl/tandem/manifests/rbac"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// ErrNoNamespace: a Run is rendered for one namespace, which its file may leave to the caller.
var ErrNoNamespace = errors.New("the run has no namespace")

// Render returns the objects of a run in the order in which they are applied. An invalid run is refused with all its problems.
func Render(run *v1alpha1.Run) ([]*unstructured.Unstructured, error) {
	if errs := run.Validate(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if run.Metadata.Namespace == "" {
		return nil, fmt.Errorf("rendering run %s: %w", run.Metadata.Name, ErrNoNamespace)
	}
	scheduling, err := schedule.Of(run)
	if err != nil {
		return nil, fmt.Errorf("rendering run %s: %w", run.Metadata.Name, err)
	}
	gang, err := scheduling.Objects()
	if err != nil {
		return nil, fmt.Errorf("rendering run %s: %w", run.Metadata.Name, err)
	}
	list, err := objects(run, gang)
	if err != nil {
		return nil, fmt.Errorf("rendering run %s: %w", run.Metadata.Name, err)
	}
	out, err := toUnstructured(list)
	if err != nil {
		return nil, err
	}
	return out, scheduling.Check(out)
}

// objects lists the apply configurations of a run. gang is what the scheduler needs before it sees a pod.
func objects(run *v1alpha1.Run, gang []any) ([]any, error) {
	var accounts, roles, bindings []any
	for _, account := range rbac.Accounts(run) {
		accounts = append(accounts, account.ServiceAccount)
		roles = append(roles, account.Role)
		bindings = append(bindings, account.RoleBinding)
	}
	all := append(append(accounts, roles...), bindings...)
	all = append(all, registry(run)...)
	if policy := network.Policy(run); policy != nil {
		all = append(all, policy)
	}
	for _, object := range devices.Objects(run) {
		all = append(all, object)
	}
	all = append(all, gang...)
	workloads, err := workloads(run)
	return append(all, workloads...), err
}

func workloads(run *v1alpha1.Run) ([]any, error) {
	var out []any
	var errs []error
	add := func(object any, err error) {
		out, errs = append(out, object), append(errs, err)
	}
	if run.Spec.Backend == v1alpha1.BackendJobSet {
		add(jobset.Build(run))
		return out, errors.Join(errs...)
	}
	for i := range run.Spec.Clusters {
		if cluster := &run.Spec.Clusters[i]; run.InRayJob(cluster) {
			add(rayjob.Build(run, cluster))
		} else {
			add(raycluster.Build(run, cluster))
		}
	}
	if run.Spec.Backend.DriverHasPod() {
		add(raycluster.Driver(run))
	}
	return out, errors.Join(errs...)
}

// registry is the empty endpoint registry: the run's ConfigMap, and its shards where many publish. They have no data, so that applying
// them again takes no endpoint away.
func registry(run *v1alpha1.Run) []any {
	names := run.RegistryNames()
	main := registryConfigMap(run, names[0]).WithLabels(map[string]string{v1alpha1.LabelBackend: string(run.Spec.Backend)})
	if shards := len(names) - 1; shards > 0 {
		main.WithAnnotations(map[string]string{v1alpha1.AnnotationRegistryShards: strconv.Itoa(shards)})
	}
	if reaction := run.Spec.Failure.OnPeerFailure; reaction != v1alpha1.PeerFailureCascade {
		main.WithAnnotations(map[string]string{v1alpha1.AnnotationOnPeerFailure: string(reaction)})
	}
	out := []any{main}
	for i, name := range names[1:] {
		out = append(out, registryConfigMap(run, name).WithLabels(map[string]string{v1alpha1.LabelRegistryShard: strconv.Itoa(i)}))
	}
	return out
}

func registryConfigMap(run *v1alpha1.Run, name string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, run.Metadata.Namespace).WithLabels(pod.Labels(run, "", ""))
}

// toUnstructured keeps exactly the fields that the apply configurations set.
func toUnstructured(configurations []any) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, len(configurations))
	for i, configuration := range configurations {
		data, err := json.Marshal(configuration)
		if err != nil {
			return nil, fmt.Errorf("encoding %T: %w", configuration, err)
		}
		out[i] = &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(data, &out[i].Object); err != nil {
			return nil, fmt.Errorf("decoding %T: %w", configuration, err)
		}
	}
	return out, nil
}
