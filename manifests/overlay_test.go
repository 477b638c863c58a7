package manifests_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// odd are podTemplates that kubectl would take for a patch, or nearly. says is what the refusal says; "" is one that is rendered.
var odd = []struct{ name, patch, says string }{
	{"nothing at all", ``, ""},
	{"null", `null`, ""},
	{"an empty mapping", `{}`, ""},
	{"an empty spec", `{"spec":{}}`, ""},
	{"an empty list of containers", `{"spec":{"containers":[]}}`, ""},
	{"null where nothing is", `{"spec":{"affinity":null}}`, ""},
	{"a container more", `{"spec":{"containers":[{"name":"exporter","image":"e:1"}]}}`, ""},
	{"an order of containers", `{"spec":{"$setElementOrder/containers":[{"name":"exporter"},{"name":"ray"}],"containers":[{"name":"exporter","image":"e:1"}]}}`, ""},
	{"the deletion of a container that is not there", `{"spec":{"containers":[{"name":"exporter","$patch":"delete"}]}}`, ""},

	{"no JSON", `{`, "cannot be merged"},
	{"a list", `[]`, "cannot be merged"},
	{"a word", `"ray"`, "cannot be merged"},
	{"a replacement of everything", `{"$patch":"replace"}`, `takes the container`},
	{"a deletion of everything", `{"$patch":"delete"}`, `takes the container`},
	{"an unknown directive", `{"$patch":"mend"}`, "cannot be merged"},
	{"no spec", `{"spec":null}`, `takes the container`},
	{"a spec that is a word", `{"spec":"ray"}`, "makes no pod"},
	{"a replacement of the spec", `{"spec":{"$patch":"replace"}}`, `takes the container`},
	{"no containers", `{"spec":{"containers":null}}`, `takes the container`},
	{"a replacement of the containers", `{"spec":{"containers":[{"$patch":"replace"}]}}`, `takes the container`},
	{"a replacement of the containers that brings its own", `{"spec":{"containers":[{"$patch":"replace"},{"name":"ray"},{"name":"driver"}]}}`, "spec.containers[0].command"},
	{"the deletion of the Ray container", `{"spec":{"containers":[{"name":"ray","$patch":"delete"}]}}`, `takes the container`},
	{"no command", `{"spec":{"containers":[{"name":"ray","command":null}]}}`, "spec.containers[0].command"},
	{"no variables", `{"spec":{"containers":[{"name":"ray","env":null}]}}`, "spec.containers[0].env"},
	{"no mounts", `{"spec":{"containers":[{"name":"ray","volumeMounts":[{"$patch":"replace"}]}]}}`, "spec.containers[0].volumeMounts"},
	{"no sidecars", `{"spec":{"initContainers":null}}`, "spec.initContainers"},
	{"no volumes", `{"spec":{"volumes":null}}`, "spec.volumes"},
	{"no scheduler", `{"spec":{"schedulerName":null}}`, "spec.schedulerName"},
	{"no account", `{"spec":{"serviceAccountName":null}}`, "spec.serviceAccountName"},
	{"another account by its old name", `{"spec":{"serviceAccount":"admin"}}`, "spec.serviceAccount"},
	{"the token's default", `{"spec":{"automountServiceAccountToken":null}}`, "spec.automountServiceAccountToken"},
	{"no metadata", `{"metadata":null}`, "metadata.labels"},
	{"no labels", `{"metadata":{"labels":null}}`, "metadata.labels"},
	{"no label of the run", `{"metadata":{"labels":{"tandem.dev/run":null}}}`, "metadata.labels"},
	{"a volume without a name", `{"spec":{"volumes":[{"emptyDir":{}}]}}`, "an item of a list is merged by its key"},
	{"a variable without a name", `{"spec":{"containers":[{"name":"ray","env":[{"value":"1"}]}]}}`, "an item of a list is merged by its key"},
	{"an alias without an address", `{"spec":{"hostAliases":[{"hostnames":["a"]}]}}`, "an item of a list is merged by its key"},
	{"null in a list", `{"spec":{"volumes":[null]}}`, "cannot be merged"},
	{"null in a list that tandem does not have", `{"spec":{"hostAliases":[null]}}`, "cannot be merged"},
	{"a mapping where a directive wants words", `{"spec":{"$retainKeys":[{}]}}`, "cannot be merged"},
	{"an order that is none", `{"spec":{"$setElementOrder/volumes":"tandem"}}`, "cannot be merged"},
	{"a name that is a mapping", `{"spec":{"hostAliases":[{"ip":{}}]}}`, "cannot be merged"},
}

func TestAnOddPodTemplateIsRenderedOrRefusedAndNeverEndsTheProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range odd {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, example := range exampleFiles {
				for place, run := range withPodTemplate(t, example, tt.patch) {
					objects, err := manifests.Render(run)
					if tt.says != "" {
						require.ErrorContains(t, err, "podTemplate", "%s, %s", example, place)
						require.ErrorContains(t, err, tt.says, "%s, %s", example, place)
						continue
					}
					require.NoError(t, err, "%s, %s", example, place)
					require.NotEmpty(t, objects)
				}
			}
		})
	}
}

// withPodTemplate is an example with a podTemplate in each place that may have one for the Ray container.
func withPodTemplate(t *testing.T, example, patch string) map[string]*v1alpha1.Run {
	t.Helper()
	ofRun, ofCluster, ofGroup := load(t, example), load(t, example), load(t, example)
	ofRun.Spec.PodTemplate = v1alpha1.NewPodTemplate([]byte(patch))
	ofCluster.Spec.Clusters[0].PodTemplate = v1alpha1.NewPodTemplate([]byte(patch))
	ofGroup.Spec.Clusters[0].Head.PodTemplate = v1alpha1.NewPodTemplate([]byte(patch))
	return map[string]*v1alpha1.Run{"run": ofRun, "cluster": ofCluster, "head": ofGroup}
}

func TestContainersOfTheRunsTemplateAreLeftOutOfTheDriversPod(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-raycluster")
	run.Spec.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec":{"containers":[{"name":"ray","tty":true},{"name":"exporter","image":"e:1"}]}}`))
	var names []string
	for _, container := range find[batchv1.Job](t, render(t, run), "Job").Spec.Template.Spec.Containers {
		names = append(names, container.Name)
	}
	require.Equal(t, []string{"driver"}, names, "one beside it would keep the pod from ending")
}

func TestPodTemplatesThatDoNotGoTogetherAreRefused(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-raycluster")
	run.Spec.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec":{"containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}}`))
	run.Spec.Driver.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec":{"containers":[{"name":"driver","$patch":"delete"}]}}`))
	_, err := manifests.Render(run)
	require.ErrorContains(t, err, `takes the container "driver" out of the pod`)
}

func TestAVersionOfKAIThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"none", "0.11", "0.20.1", "1.0", "0.17.0-rc1"} {
		for _, backend := range backends {
			run := square{backend: backend, with: v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "q", KAIVersion: version}}.run(t)
			_, err := manifests.Render(run)
			require.ErrorContains(t, err, "spec.scheduling.kaiVersion", version)
		}
	}
}

func TestATokenWithoutANameIsRefused(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-raycluster")
	run.Spec.RayToken = &corev1.SecretKeySelector{Key: "token"}
	_, err := manifests.Render(run)
	require.ErrorContains(t, err, "spec.rayToken.name")
}
