package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/manifests/kai"
)

var (
	notThere  = apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "x")
	forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("no"))
)

// healthy is a cluster in which the run of testdata/gang.yaml fits.
func healthy(t *testing.T, p *Plan) *Sight {
	t.Helper()
	s := &Sight{
		Namespace: Seen[*corev1.Namespace]{Value: &corev1.Namespace{}},
		Served:    map[schema.GroupVersionKind]Seen[bool]{},
		Refs:      map[string]Seen[*unstructured.Unstructured]{},
		Access:    p.rights(),
		Rules: Seen[authorizationv1.SubjectRulesReviewStatus]{Value: authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}},
		}},
		PodGroupFields: Seen[map[string]bool]{Value: map[string]bool{"minSubGroup": true, "stalenessGracePeriod": true}},
		BindingModes:   map[string]string{"lazy": "WaitForFirstConsumer", "eager": "Immediate"},
		Queues:         Seen[[]QueueSeen]{Value: []QueueSeen{queue(t, "rl-team", "ml", 64, 64), queue(t, "ml", "", -1, -1), queue(t, "other", "ml", 8, 8)}},
		Topology: Seen[*kai.Topology]{Value: &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{
			{NodeLabel: "example.com/block"}, {NodeLabel: "example.com/rack"},
		}}}},
	}
	for i := range s.Access {
		s.Access[i].Allowed.Value = true
	}
	for _, kind := range p.kinds() {
		s.Served[kind] = Seen[bool]{Value: true}
	}
	for _, ref := range p.Needs {
		s.Refs[ref.Kind+" "+ref.Name] = Seen[*unstructured.Unstructured]{Value: object(t, `{data: {token: eA==}, value: 50, status: {phase: Bound}, spec: {accessModes: [ReadWriteMany]}}`)}
	}
	for i := range 4 {
		rack := map[string]string{"example.com/block": "b0", "example.com/rack": fmt.Sprintf("r%d", i/2)}
		s.Nodes.Value = append(s.Nodes.Value, node(fmt.Sprintf("gpu-%d", i), rack, "128", "1Ti", 8))
	}
	s.Nodes.Value = append(s.Nodes.Value, node("cpu-0", nil, "64", "256Gi", 0))
	return s
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out.Object))
	if value, isFloat := out.Object["value"].(float64); isFloat {
		out.Object["value"] = int64(value) // as the client reads it
	}
	return out
}

func queue(t *testing.T, name, parent string, quota, limit float64) QueueSeen {
	t.Helper()
	q := QueueSeen{}
	q.Metadata.Name, q.Spec.ParentQueue = name, parent
	none := kai.QueueResource{Quota: -1, Limit: -1}
	q.Spec.Resources = kai.QueueResources{CPU: none, Memory: none, GPU: kai.QueueResource{Quota: quota, Limit: limit}}
	return q
}

func list(cpu, memory string, gpus int64) corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
	}
	if gpus > 0 {
		out["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return out
}

func asks(cpu, memory string) corev1.ResourceList {
	out := list(cpu, memory, 0)
	delete(out, corev1.ResourcePods)
	return out
}

func node(name string, labels map[string]string, cpu, memory string, gpus int64) corev1.Node {
	out := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	out.Status.Allocatable = list(cpu, memory, gpus)
	return out
}

// running is a pod on a node.
func running(node string, labels map[string]string, cpu string, gpus int64) corev1.Pod {
	out := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "post-train", Labels: labels}}
	out.Spec.NodeName = node
	requests := list(cpu, "1Mi", gpus)
	delete(requests, corev1.ResourcePods)
	out.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return out
}

func rayCluster() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}
}

// change replaces what was seen of a reference.
func change(s *Sight, about string, seen Seen[*unstructured.Unstructured]) { s.Refs[about] = seen }

func volume(t *testing.T, s *Sight, text string) {
	t.Helper()
	change(s, "PersistentVolumeClaim models", Seen[*unstructured.Unstructured]{Value: object(t, text)})
}

func quotaOf(name corev1.ResourceName, hard, used string) corev1.ResourceQuota {
	return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)},
	}}
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
