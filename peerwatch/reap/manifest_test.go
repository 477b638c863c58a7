package reap

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

const (
	manifest = "../../examples/reap/reap.yaml"
	page     = "../../docs/reap.md"
)

// objects decodes YAML strictly: a field that does not exist is an error.
func objects(t *testing.T, text string) []client.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(clientgoscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var list []client.Object
	for part := range strings.SplitSeq(text, "\n---\n") {
		object, _, err := decoder.Decode([]byte(part), nil, nil)
		require.NoError(t, err, part)
		list = append(list, object.(client.Object))
	}
	return list
}

func manifestObjects(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	return objects(t, string(text))
}

// clusterRole are the objects that the page shows for --exclude=taint.
func clusterRole(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, block)
	return objects(t, string(block[1]))
}

// apply sends the object as it is written, without the fields that a Go type adds.
func (p *place) apply(t *testing.T, object client.Object, options ...client.ApplyOption) {
	t.Helper()
	raw, err := yaml.Marshal(object)
	require.NoError(t, err)
	written := map[string]any{}
	require.NoError(t, yaml.Unmarshal(raw, &written))
	delete(written, "status")
	content := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: written})
	require.NoError(t, p.Apply(t.Context(), content, append(options, client.FieldOwner("kubectl"), client.ForceOwnership)...))
}

// rulesOf lists a role's rules one by one, as rights.
func rulesOf(rules []rbacv1.PolicyRule) (list []string) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					list = append(list, verb+" "+kubeclient.Resource{Group: rule.APIGroups[0], Plural: resource}.String()+" "+name)
				}
			}
		}
	}
	return list
}

// rightsOf lists the rights of a reaper, those on nodes or the others.
func rightsOf(t *testing.T, cfg Config, clusterWide bool) (list []string) {
	t.Helper()
	cfg.Namespace, cfg.Policy = "any", DefaultPolicy()
	cfg.Policy.Exclude = ExcludeTaint
	reaper, err := New(cfg, &rest.Config{})
	require.NoError(t, err)
	for _, right := range reaper.rights() {
		if right.clusterWide == clusterWide {
			list = append(list, right.verb+" "+right.Resource.String()+" "+right.name)
		}
	}
	return list
}

func TestTheManifestGivesTheRightsThatAreNeededAndNoOther(t *testing.T) {
	t.Parallel()
	watching := []string{"list pods ", "watch pods "}
	for _, object := range manifestObjects(t) {
		if role, is := object.(*rbacv1.Role); is {
			require.ElementsMatch(t, append(watching, rightsOf(t, Config{}, false)...), rulesOf(role.Rules))
		}
	}
	for _, object := range clusterRole(t) {
		if role, is := object.(*rbacv1.ClusterRole); is {
			require.ElementsMatch(t, rightsOf(t, Config{}, true), rulesOf(role.Rules))
		}
	}
}

// manifestSuffices: the API server accepts the manifest as it is, and a reaper with just its rights does its work.
func manifestSuffices(t *testing.T, p *place) {
	p = p.newPlace(t, "post-train")
	kinds := map[string]bool{}
	for _, object := range append(manifestObjects(t), clusterRole(t)...) {
		kinds[object.GetObjectKind().GroupVersionKind().Kind] = true
		p.apply(t, object, client.DryRunAll)
		if _, is := object.(*appsv1.Deployment); !is {
			p.apply(t, object)
		}
	}
	for _, kind := range []string{"Deployment", "ServiceAccount", "ConfigMap", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
		require.Contains(t, kinds, kind)
	}
	cfg := rest.CopyConfig(p.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:post-train:tandem-reap",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:post-train", "system:authenticated"},
	}
	pod := p.stuck(t, "w-1", "node-1", "a")
	seen, _ := p.reap(t, cfg, func(c *Config) { c.Policy.Exclude = ExcludeTaint })
	seen.until(t, "a deletion without trouble", func(l *looks) bool { return l.kinds["w-1"] == Delete && len(l.problems) == 0 })
	require.False(t, p.there(t, pod))
	require.Contains(t, p.events(t, pod), EventReaped)
}
