package importer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/manifests"
)

// What an imported Run becomes, overlays included, is what a real API server takes.
func TestARealAPIServerAcceptsWhatImportedRunsBecome(t *testing.T) {
	env := testenv.Environment(t)
	kaiCRDs := "../../shared/kai-crds/v0.17.0"
	_, err := os.Stat(kaiCRDs)
	hasKAI := err == nil
	if hasKAI {
		env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, kaiCRDs)
	} else {
		t.Logf("skipped: what concerns KAI's own objects, since %s is not there: %v", kaiCRDs, err)
	}
	env.CRDInstallOptions.MaxTime = 2 * time.Minute // a busy machine takes more than the ten seconds of envtest
	config, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	admin, err := client.New(config, client.Options{})
	require.NoError(t, err)
	require.NoError(t, admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "post-train"}}))
	for _, name := range inputs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			result, err := Import([]File{read(t, name)}, options)
			require.NoError(t, err)
			result.Run.Metadata.Namespace = "post-train"
			objects, err := manifests.Render(result.Run)
			require.NoError(t, err)
			for _, object := range objects {
				group := object.GroupVersionKind().Group
				if group == "resource.nvidia.com" || group == "scheduling.run.ai" && !hasKAI {
					continue // no CRD here describes it
				}
				err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.DryRunAll)
				require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
			}
		})
	}
}
