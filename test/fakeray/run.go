package fakeray

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/registry"
)

// Run is a run on a [Stage].
type Run struct {
	*v1alpha1.Run
	stage    *Stage
	clusters []*rayv1.RayCluster // as they are made
	nodes    map[int]string
	heads    []string // names of the head pods, as far as they were made
	made     int      // head pods
}

// Cluster is the name of the RayCluster of cluster i.
func (r *Run) Cluster(i int) string {
	return v1alpha1.RayClusterName(r.Metadata.Name, r.Spec.Clusters[i].Name)
}

// Head is the name of the head pod of cluster i.
func (r *Run) Head(i int) string { return r.heads[i] }

// Watcher are the arguments of the peerwatch container in the head of cluster i.
func (r *Run) Watcher(i int) []string {
	for _, container := range r.clusters[i].Spec.HeadGroupSpec.Template.Spec.InitContainers {
		if container.Name == "peerwatch" {
			return container.Args
		}
	}
	return nil
}

func (r *Run) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: r.Metadata.Namespace}
}

// Create makes RayCluster i with a head that is ready, as KubeRay and the kubelet do.
func (r *Run) Create(ctx context.Context, i int) error {
	cluster := r.clusters[i].DeepCopy()
	if err := r.stage.Create(ctx, cluster); err != nil {
		return err
	}
	if err := r.createHead(ctx, i, cluster); err != nil {
		return err
	}
	return r.stage.Status().Patch(ctx, cluster, clusterStatus(metav1.ConditionTrue))
}

// createHead makes a head pod for cluster i, under a name of its own.
func (r *Run) createHead(ctx context.Context, i int, cluster *rayv1.RayCluster) error {
	r.made++
	r.heads[i] = fmt.Sprintf("%s-head-%d", cluster.Name, r.made)
	template := r.clusters[i].Spec.HeadGroupSpec.Template
	pod := &corev1.Pod{ObjectMeta: r.meta(r.heads[i]), Spec: *template.Spec.DeepCopy()}
	pod.Labels = map[string]string{"ray.io/cluster": cluster.Name, "ray.io/node-type": "head", v1alpha1.LabelRun: r.Metadata.Name}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: cluster.Name, UID: cluster.UID}}
	pod.Spec.SchedulerName, pod.Spec.NodeName = "nobody", r.nodes[i]
	soon := int64(1) // by default a pod may stay on a node that is lost for five minutes
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
		Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &soon,
	})
	if err := r.stage.Create(ctx, pod); err != nil {
		return err
	}
	return r.stage.Status().Patch(ctx, pod, podStatus(r.container(i), 0))
}

// container is the name of the Ray container.
func (r *Run) container(i int) string {
	return r.clusters[i].Spec.HeadGroupSpec.Template.Spec.Containers[0].Name
}

// RestartHead is what the kubelet reports after the Ray container of head i was killed.
func (r *Run) RestartHead(ctx context.Context, i int) error {
	return r.stage.Status().Patch(ctx, &corev1.Pod{ObjectMeta: r.meta(r.heads[i])}, podStatus(r.container(i), 1))
}

// ReplaceHead deletes the head pod of cluster i and makes the next one at once, as KubeRay does.
func (r *Run) ReplaceHead(ctx context.Context, i int) error {
	pod := &corev1.Pod{ObjectMeta: r.meta(r.heads[i])}
	if err := r.stage.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	cluster := &rayv1.RayCluster{}
	if err := r.stage.Get(ctx, client.ObjectKey{Namespace: r.Metadata.Namespace, Name: r.Cluster(i)}, cluster); err != nil {
		return err
	}
	return r.createHead(ctx, i, cluster)
}

// UnreadyHead is what KubeRay reports when the head of cluster i does not answer its probe.
func (r *Run) UnreadyHead(ctx context.Context, i int) error {
	return r.stage.Status().Patch(ctx, &rayv1.RayCluster{ObjectMeta: r.meta(r.Cluster(i))}, clusterStatus(metav1.ConditionFalse))
}

// ReadyHead is what KubeRay reports when it does.
func (r *Run) ReadyHead(ctx context.Context, i int) error {
	return r.stage.Status().Patch(ctx, &rayv1.RayCluster{ObjectMeta: r.meta(r.Cluster(i))}, clusterStatus(metav1.ConditionTrue))
}

// Delete deletes RayCluster i.
func (r *Run) Delete(ctx context.Context, i int) error {
	return r.stage.Delete(ctx, &rayv1.RayCluster{ObjectMeta: r.meta(r.Cluster(i))})
}

// Fail writes the registry's error key, as a process of the run does that cannot go on.
func (r *Run) Fail(ctx context.Context, reason string) error {
	return r.stage.Patch(ctx, r.registry(), merge(map[string]any{"data": map[string]string{registry.ErrorKey: reason}}))
}

func (r *Run) registry() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: r.meta(v1alpha1.ConfigMapName(r.Metadata.Name))}
}

// Reported is the registry's error key.
func (r *Run) Reported(ctx context.Context) (string, error) {
	cm := r.registry()
	err := r.stage.Get(ctx, client.ObjectKeyFromObject(cm), cm)
	return cm.Data[registry.ErrorKey], err
}

// Left lists what is there of the run's clusters and its driver, and is not being deleted.
func (r *Run) Left(ctx context.Context) ([]string, error) {
	var left []string
	objects := []client.Object{&batchv1.Job{ObjectMeta: r.meta(v1alpha1.DriverJobName(r.Metadata.Name))}}
	for i := range r.clusters {
		objects = append(objects, &rayv1.RayCluster{ObjectMeta: r.meta(r.Cluster(i))})
	}
	for _, object := range objects {
		name := object.GetName()
		err := r.stage.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || (err == nil && object.GetDeletionTimestamp() != nil) {
			continue
		}
		if err != nil {
			return nil, err
		}
		left = append(left, name)
	}
	return left, nil
}
