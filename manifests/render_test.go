package manifests_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/manifests"
)

var exampleFiles = []string{"disagg-jobset", "disagg-raycluster", "disagg-rayjob"}

// load reads an example into the namespace default.
func load(t *testing.T, example string) *v1alpha1.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", example+".yaml"))
	require.NoError(t, err)
	run, err := v1alpha1.Load(data)
	require.NoError(t, err)
	run.Metadata.Namespace = "default"
	return run
}

func render(t *testing.T, run *v1alpha1.Run) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Render(run)
	require.NoError(t, err)
	return objects
}

func TestExamplesRenderToTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, manifests.WriteYAML(&out, render(t, load(t, example))))
			golden.Assert(t, out.String(), example+".golden.yaml")
		})
	}
}

func TestGoldenFilesDecodeStrictlyThroughTheTypedAPI(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		data, err := os.ReadFile(filepath.Join("testdata", example+".golden.yaml"))
		require.NoError(t, err)
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			var object unstructured.Unstructured
			require.NoError(t, yaml.Unmarshal(document, &object.Object))
			typed := typeOf(object.GetKind())
			require.NotNil(t, typed, "unexpected kind %s", object.GetKind())
			require.NoError(t, yaml.UnmarshalStrict(document, typed), "%s %s", object.GetKind(), object.GetName())
		}
	}
}

func typeOf(kind string) runtime.Object {
	return map[string]runtime.Object{
		"ConfigMap":      &corev1.ConfigMap{},
		"ServiceAccount": &corev1.ServiceAccount{},
		"Role":           &rbacv1.Role{},
		"RoleBinding":    &rbacv1.RoleBinding{},
		"Job":            &batchv1.Job{},
		"JobSet":         &v1alpha2.JobSet{},
		"RayCluster":     &rayv1.RayCluster{},
		"RayJob":         &rayv1.RayJob{},
	}[kind]
}

func TestRenderingTwiceGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	var first, second bytes.Buffer
	run := load(t, "disagg-jobset")
	require.NoError(t, manifests.WriteJSON(&first, render(t, run)))
	require.NoError(t, manifests.WriteJSON(&second, render(t, run)))
	require.Equal(t, first.String(), second.String())
}

func TestARunWithoutNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-jobset")
	run.Metadata.Namespace = ""
	_, err := manifests.Render(run)
	require.ErrorIs(t, err, manifests.ErrNoNamespace)
}

func TestAnInvalidRunIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-jobset")
	run.Spec.Image, run.Spec.Driver.Cluster = "", "rll"
	_, err := manifests.Render(run)
	require.ErrorContains(t, err, "spec.image")
	require.ErrorContains(t, err, `did you mean "rl"?`)
}

func TestARealAPIServerAcceptsEveryObject(t *testing.T) {
	admin, err := client.New(testenv.Start(t), client.Options{})
	require.NoError(t, err)
	for _, example := range exampleFiles {
		for _, object := range render(t, load(t, example)) {
			name := fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
			require.NoError(t, dryRun(t.Context(), admin, object), name)
		}
	}
}

// dryRun applies an object strictly: a field that the schema does not know is an error.
func dryRun(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(v1alpha1.FieldManager), client.DryRunAll)
}
