package v1alpha1_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// minimal is the shortest valid file; tests replace parts of it.
const minimal = `apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: r}
spec:
  backend: jobset
  image: trainer:1
  clusters:
  - name: rl
    head: {}
    workers:
    - name: gpu
  driver:
    cluster: rl
    command: [python, train.py]
`

// edit replaces exactly one piece of the minimal file.
func edit(t *testing.T, old, replacement string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(minimal, old), "%q in the minimal file", old)
	return strings.Replace(minimal, old, replacement, 1)
}

func TestTheExamplesAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = v1alpha1.Load(data)
		require.NoError(t, err, file)
	}
}

func TestDefaultsFillWhatTheFileLeavesOut(t *testing.T) {
	t.Parallel()
	run, err := v1alpha1.Load([]byte(minimal))
	require.NoError(t, err)
	require.Equal(t, v1alpha1.DefaultSidecarImage, run.Spec.SidecarImage)
	require.Equal(t, "2.52.0", run.Spec.RayVersion)
	require.Equal(t, 20*time.Minute, run.Spec.Failure.StartupGrace.Duration)
	require.Equal(t, v1alpha1.RayPorts{GCS: 6379, Dashboard: 8265, Client: 10001}, run.Spec.Clusters[0].Ports)
	require.Equal(t, int32(1), *run.Spec.Clusters[0].Workers[0].Replicas)
}

func TestDefaultsKeepWhatTheFileSays(t *testing.T) {
	t.Parallel()
	run, err := v1alpha1.Load([]byte(edit(t, "    - name: gpu\n", "    - {name: gpu, replicas: 0}\n    ports: {gcs: 7000}\n")))
	require.NoError(t, err)
	require.Equal(t, int32(0), *run.Spec.Clusters[0].Workers[0].Replicas)
	require.Equal(t, v1alpha1.RayPorts{GCS: 7000, Dashboard: 8265, Client: 10001}, run.Spec.Clusters[0].Ports)
}

// Each case is one mistake, and the whole message that a user sees for it.
func TestAMistakeIsReportedWithItsLineAndAWayOut(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, replacement, want string }{
		{
			"a misspelt field", "    head: {}", "    haed: {}",
			`line 9: spec.clusters[0].haed: unknown field; did you mean "head"?`,
		},
		{
			"a field in the wrong case", "  image: trainer:1", "  image: trainer:1\n  rayversion: 2.52.0",
			`line 7: spec.rayversion: unknown field; did you mean "rayVersion"?`,
		},
		{
			"a field far from any other", "    head: {}", "    colour: {}",
			"line 9: spec.clusters[0].colour: unknown field; known here: autoscaler, env, envFrom, head, name, nodeSelector, podTemplate, ports, publish, tolerations, volumes, workers",
		},
		{
			"a field given twice", "  image: trainer:1\n", "  image: trainer:1\n  image: trainer:2\n",
			"line 7: spec.image: given twice; the first is on line 6: remove one",
		},
		{
			"a number where a string belongs", "[python, train.py]", "[serve, --port, 9090]",
			`line 14: spec.driver.command[2]: must be a string, not the number 9090: write "9090"`,
		},
		{
			"a string where a number belongs", "    head: {}", "    head: {gpus: two}",
			`line 9: spec.clusters[0].head.gpus: must be a whole number, not the text "two"`,
		},
		{
			"a mapping where a list belongs", "    workers:\n    - name: gpu\n", "    workers: {name: gpu}\n",
			"line 10: spec.clusters[0].workers: must be a list, not a mapping",
		},
		{
			"a quantity that is none", "    head: {}", "    head: {resources: {cpu: lots}}",
			`line 9: spec.clusters[0].head.resources[cpu]: must be a quantity such as 500m, 2 or 64Mi, not the text "lots"`,
		},
		{
			"a quantity as people write it", "    head: {}", "    head: {resources: {memory: 64MiB}}",
			`line 9: spec.clusters[0].head.resources[memory]: 64MiB: write 64Mi`,
		},
		{
			"thousandths of bytes", "    head: {}", "    head: {resources: {memory: 64m}}",
			`line 9: spec.clusters[0].head.resources[memory]: Invalid value: "64m": is less than 1Mi; did you mean 64Mi?`,
		},
		{
			"a duration without a unit", "  image: trainer:1", "  image: trainer:1\n  failure: {startupGrace: 20}",
			"line 7: spec.failure.startupGrace: must be a duration, not the number 20: write 20s or 20m",
		},
		{
			"a duration in other words", "  image: trainer:1", "  image: trainer:1\n  failure: {startupGrace: 20 min}",
			`line 7: spec.failure.startupGrace: must be a duration such as 90s, 20m or 1h, not the text "20 min"`,
		},
		{
			"an image that is none", "image: trainer:1", "image: https://registry.example/Trainer",
			`line 6: spec.image: Invalid value: "https://registry.example/Trainer": must be an image such as registry.example/team/trainer:v1`,
		},
		{
			"a tab", "    head: {}", "\thead: {}",
			"line 9: a tab before the text; YAML is indented with blanks only",
		},
		{
			"a port with a bad name", "    head: {}", "    head: {ports: {rl_head: 90}}",
			`line 9: spec.clusters[0].head.ports[rl_head]: Invalid value: "rl_head": must be at most 15 lower-case letters`,
		},
		{
			"a variable that is set twice", "    head: {}", "    head: {env: [{name: A, value: x},\n      {name: A, value: y}]}",
			`line 10: spec.clusters[0].head.env[1].name: Duplicate value: "A": the first is on line 9`,
		},
		{
			"an unknown backend", "backend: jobset", "backend: slurm",
			`line 5: spec.backend: Unsupported value: "slurm": supported values: "jobset", "raycluster", "rayjob"`,
		},
		{
			"no backend", "  backend: jobset\n", "",
			`line 4: spec.backend: Required value: one of ["jobset" "raycluster" "rayjob"]`,
		},
		{
			"no image", "  image: trainer:1\n", "",
			"line 4: spec.image: Required value",
		},
		{
			"a name that is no DNS label", "{name: r}", "{name: My_Run}",
			`line 3: metadata.name: Invalid value: "My_Run": must be lower-case letters, digits and -, begin with a letter and end with a letter or digit`,
		},
		{
			"a run and cluster that make too long a label", "{name: r}", "{name: " + strings.Repeat("r", 26) + "}",
			"line 3: metadata.name: Invalid value: \"" + strings.Repeat("r", 26) + "\": has 26 characters, and with the other names of this file at most 25 fit: " +
				"the label with the coordinator's host " + strings.Repeat("r", 26) + "-rl-head-0-0." + strings.Repeat("r", 26) + " may have at most 63",
		},
		{
			"a run's name that is too long for everything", "{name: r}", "{name: " + strings.Repeat("r", 80) + "}",
			"line 3: metadata.name: Invalid value: \"" + strings.Repeat("r", 80) + "\": has 80 characters, and with the other names of this file at most 25 fit",
		},
		{
			"a pod with too long a name", "- name: gpu", "- {name: " + strings.Repeat("g", 50) + ", replicas: 100}",
			"line 11: spec.clusters[0].workers[0].name: Invalid value: \"" + strings.Repeat("g", 50) + "\": has 50 characters, and with the other names of this file at most 47 fit: the pod r-rl-",
		},
		{
			"a worker group named like the head", "- name: gpu", "- name: head",
			`line 11: spec.clusters[0].workers[0].name: Invalid value: "head": taken by tandem`,
		},
		{
			"two groups of one name", "    - name: gpu\n", "    - name: gpu\n    - name: gpu\n",
			`line 12: spec.clusters[0].workers[1].name: Duplicate value: "gpu": the first is on line 11`,
		},
		{
			"a driver on a cluster that does not exist", "cluster: rl", "cluster: r1",
			`line 13: spec.driver.cluster: Invalid value: "r1": no such cluster; did you mean "rl"?`,
		},
		{
			"no driver command", "    command: [python, train.py]\n", "",
			"line 12: spec.driver.command: Required value: the command whose exit ends the run",
		},
		{
			"a driver's variable from a secret", "    cluster: rl\n", "    cluster: rl\n    env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n",
			`line 14: spec.driver.env[0].valueFrom: Invalid value: "TOKEN": the value would be written into the job's command line, ` +
				`which Ray's dashboard shows: the driver runs in the head of cluster "rl", so set the variable in the env of that head`,
		},
		{
			"a queue without KAI", "  image: trainer:1", "  image: trainer:1\n  scheduling: {queue: team}",
			`line 7: spec.scheduling.queue: Invalid value: "team": the default scheduler knows no queues: set scheduler: kai or kueue, or remove the queue`,
		},
		{
			"KAI without a queue", "  image: trainer:1", "  image: trainer:1\n  scheduling: {scheduler: kai}",
			"line 7: spec.scheduling.queue: Required value: kai places pods by queue: name a leaf queue",
		},
		{
			"an unknown reaction", "  image: trainer:1", "  image: trainer:1\n  failure: {onPeerFailure: reboot}",
			`line 7: spec.failure.onPeerFailure: Unsupported value: "reboot": supported values: "cascade", "restart", "signal", "ignore"`,
		},
		{
			"a reaction that a JobSet does not know", "  image: trainer:1", "  image: trainer:1\n  failure: {onPeerFailure: signal}",
			`line 7: spec.failure.onPeerFailure: Invalid value: "signal": a JobSet fails as a whole: leave it at cascade, or set backend: raycluster`,
		},
		{
			"a negative grace", "  image: trainer:1", "  image: trainer:1\n  failure: {startupGrace: -1m}",
			`line 7: spec.failure.startupGrace: Invalid value: "-1m0s": must be longer than zero`,
		},
		{
			"negative replicas", "- name: gpu", "- {name: gpu, replicas: -1}",
			"line 11: spec.clusters[0].workers[0].replicas: Invalid value: -1: must not be negative",
		},
		{
			"negative GPUs", "- name: gpu", "- {name: gpu, gpus: -1}",
			"line 11: spec.clusters[0].workers[0].gpus: Invalid value: -1: must not be negative",
		},
		{
			"GPUs among the resources", "- name: gpu", `- {name: gpu, limits: {nvidia.com/gpu: "1"}}`,
			"line 11: spec.clusters[0].workers[0].limits[nvidia.com/gpu]: Invalid value: \"1\": GPUs are asked for by the group's gpus field",
		},
		{
			"a limit below the request", "    head: {}", "    head: {resources: {cpu: 2}, limits: {cpu: 1}}",
			`line 9: spec.clusters[0].head.limits[cpu]: Invalid value: "1": is less than the request of 2`,
		},
		{
			"a port out of range", "    head: {}", "    head: {ports: {http: 70000}}",
			"line 9: spec.clusters[0].head.ports[http]: Invalid value: 70000: must be between 1 and 65535, inclusive",
		},
		{
			"two ports alike in a pod", "    head: {}", "    head: {ports: {http: 8265}}",
			"line 9: spec.clusters[0].head.ports[http]: Invalid value: 8265: used by spec.clusters[0].ports.dashboard in the same pod",
		},
		{
			"the registry's port", "    head: {}", "    head: {ports: {http: 9440}}",
			"line 9: spec.clusters[0].head.ports[http]: Invalid value: 9440: used by the registry sidecar in the same pod",
		},
		{
			"peerwatch's port", "    head: {}", "    head: {ports: {http: 9441}}",
			"line 9: spec.clusters[0].head.ports[http]: Invalid value: 9441: used by the peerwatch sidecar in the same pod",
		},
		{
			"a variable that is tandem's", "    head: {}", "    head: {env: [{name: POD_IP, value: x}]}",
			`line 9: spec.clusters[0].head.env[0].name: Invalid value: "POD_IP": tandem sets this variable`,
		},
		{
			"a Ray flag that is tandem's", "    head: {}", `    head: {rayStartParams: {port: "1"}}`,
			`line 9: spec.clusters[0].head.rayStartParams[port]: Invalid value: "1": tandem sets this flag: set ports.gcs of the cluster`,
		},
		{
			"a publisher in a group that does not exist", "    head: {}", "    head: {}\n    publish: [{key: k, group: gpus, url: http://x}]",
			`line 10: spec.clusters[0].publish[0].group: Invalid value: "gpus": no such group in this cluster; did you mean "gpu"?`,
		},
		{
			"an endpoint without an address", "    head: {}", "    head: {}\n    publish: [{key: k}]",
			"line 10: spec.clusters[0].publish[0].url: Required value: give url (a fixed address) or file",
		},
		{
			"an endpoint with two addresses", "    head: {}", "    head: {}\n    publish: [{key: k, url: http://x, file: f}]",
			`line 10: spec.clusters[0].publish[0].file: Invalid value: "f": url is set too: remove one`,
		},
		{
			"a file outside the folder", "    head: {}", "    head: {}\n    publish: [{key: k, file: ../f}]",
			`line 10: spec.clusters[0].publish[0].file: Invalid value: "../f": must be a plain file name`,
		},
		{
			"the key that means failure", "    head: {}", "    head: {}\n    publish: [{key: error, url: http://x}]",
			`line 10: spec.clusters[0].publish[0].key: Invalid value: "error": this key says that the run failed`,
		},
		{
			"many pods that set one key", "    - name: gpu\n", "    - {name: gpu, replicas: 2}\n    publish: [{key: k, group: gpu, url: http://x}]\n",
			`line 12: spec.clusters[0].publish[0].key: Invalid value: "k": 2 pods would overwrite each other: set member: true`,
		},
		{
			"a key published twice", "    head: {}", "    head: {}\n    publish: [{key: k, url: http://x}, {key: k, url: http://y}]",
			`line 10: spec.clusters[0].publish[1].key: Duplicate value: "k": the first is on line 10`,
		},
		{
			"a condition without a port", "    head: {}", "    head: {}\n    publish: [{key: k, url: http://x, when: {httpGet: {path: /}}}]",
			"line 10: spec.clusters[0].publish[0].when.httpGet.port: Required value: the port that is asked",
		},
		{
			"two documents", "  driver:", "---\n  driver:",
			"a second document; one file describes one run",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := v1alpha1.Load([]byte(edit(t, tt.old, tt.replacement)))
			invalid := (*v1alpha1.InvalidError)(nil)
			require.ErrorAs(t, err, &invalid)
			require.Len(t, invalid.Problems, 1, "%v", err)
			require.Contains(t, invalid.Problems[0].String(), tt.want)
		})
	}
}

func TestAllProblemsAreReportedAtOnceInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	_, err := v1alpha1.Load([]byte(`apiVersion: tandem.dev/v1
kind: Run
metadata: {name: UPPER}
spec:
  backend: raycluster
  clusters: []
  driver: {}
`))
	invalid := (*v1alpha1.InvalidError)(nil)
	require.ErrorAs(t, err, &invalid)
	var fields []string
	for _, problem := range invalid.Problems {
		fields = append(fields, problem.Field)
	}
	require.Equal(t, []string{
		"apiVersion", "metadata.name", "spec.image", "spec.clusters", "spec.driver.command", "spec.driver.cluster",
	}, fields)
}

func TestRayClusterNamesHaveABudgetOfTheirOwn(t *testing.T) {
	t.Parallel()
	file := strings.Replace(edit(t, "{name: r}", "{name: "+strings.Repeat("r", 51)+"}"), "jobset", "raycluster", 1)
	_, err := v1alpha1.Load([]byte(file))
	require.ErrorContains(t, err, "has 51 characters, and with the other names of this file at most 50 fit: the RayCluster")
	_, err = v1alpha1.Load([]byte(strings.Replace(file, strings.Repeat("r", 51), strings.Repeat("r", 50), 1)))
	require.NoError(t, err)
}

func TestClusterAndGroupMustNotMakeTheSameReplicatedJob(t *testing.T) {
	t.Parallel()
	_, err := v1alpha1.Load([]byte(edit(t, "    - name: gpu\n", "    - name: a-b\n  - name: rl-a\n    workers: [{name: b}]\n")))
	require.ErrorContains(t, err, `replicatedJob "rl-a-b"`)
}

func TestWhatIsNotYAMLIsAnOrdinaryError(t *testing.T) {
	t.Parallel()
	_, err := v1alpha1.Load([]byte("a: [1"))
	require.ErrorContains(t, err, "line 1")
	require.NotErrorAs(t, err, new(*v1alpha1.InvalidError))

	for _, empty := range []string{"", "# only\n# comments\n", "---\n"} {
		_, err = v1alpha1.Load([]byte(empty))
		require.EqualError(t, err, "the file is empty; a Run file starts with apiVersion: tandem.dev/v1alpha1")
	}
}

// The parser counts some lines from 0, and names the block of a tab instead of the tab.
func TestTheLineOfWhatIsNotYAMLIsTheOneMeant(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"a: 1\nb:\n\tc: 2\n":                          "line 3: a tab",
		"a: 1\nb:\n  c: 2\n\td: 3\n":                  "line 4: a tab",
		"a: 1\n# x\n\nb:\n  c:\n  - 1\n\t- 2\nd: 1\n": "line 7: a tab",
		"a:\n  - b\n c: d\n":                          "line 3: not YAML: did not find expected key",
		"a: 1\nb: c: d\n":                             "line 2: not YAML: mapping values are not allowed",
	} {
		_, err := v1alpha1.Load([]byte(file))
		require.ErrorContains(t, err, want, "%q", file)
	}
}

func TestUnknownFieldsDoNotHideOtherProblems(t *testing.T) {
	t.Parallel()
	_, err := v1alpha1.Load([]byte(`apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: r, name: s}
spec:
  backend: slurm
  imagee: trainer:1
  failure: {startupGrace: 20}
  clusters:
  - name: rl
    head: {gpus: many, resources: &r {cpu: lots}}
    workers:
    - {name: gpu, replicas: -1, resources: *r}
  driver: {cluster: gym, comand: [train]}
`))
	require.EqualError(t, err, strings.Join([]string{
		"line 3: metadata.name: given twice; the first is on line 3: remove one",
		`line 5: spec.backend: Unsupported value: "slurm": supported values: "jobset", "raycluster", "rayjob"`,
		`line 6: spec.imagee: unknown field; did you mean "image"?`,
		"line 7: spec.failure.startupGrace: must be a duration, not the number 20: write 20s or 20m",
		`line 10: spec.clusters[0].head.gpus: must be a whole number, not the text "many"`,
		`line 10: spec.clusters[0].head.resources[cpu]: must be a quantity such as 500m, 2 or 64Mi, not the text "lots"`,
		`line 10: spec.clusters[0].workers[0].resources[cpu]: must be a quantity such as 500m, 2 or 64Mi, not the text "lots"`,
		"line 12: spec.clusters[0].workers[0].replicas: Invalid value: -1: must not be negative",
		`line 13: spec.driver.comand: unknown field; did you mean "command"?`,
		`line 13: spec.driver.cluster: Invalid value: "gym": no such cluster; there is ["rl"]`,
	}, "\n"))
}

func TestImagesAreTakenAsRegistriesTakeThem(t *testing.T) {
	t.Parallel()
	for _, image := range []string{
		"trainer", "trainer:1", "nvcr.io/nvidia/nemo-rl:v0.4", "localhost:5000/a/b__c:X-1", "10.0.0.1:5000/x", "tandem.dev/stub-trainer:dev",
		"a/b@sha256:" + strings.Repeat("0a", 32), "'[::1]:5000/x'",
	} {
		_, err := v1alpha1.Load([]byte(edit(t, "image: trainer:1", "image: "+image)))
		require.NoError(t, err, image)
	}
	for _, image := range []string{"'train er'", "Trainer", "'trainer:'", "'trainer:a:b'", "docker://x", "a//b", "'x '"} {
		_, err := v1alpha1.Load([]byte(edit(t, "image: trainer:1", "image: "+image)))
		require.ErrorContains(t, err, "must be an image such as", image)
	}
}

func TestAGroupCalledHeadIsOneProblem(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"jobset", "raycluster"} {
		file := strings.Replace(edit(t, "- name: gpu", "- {name: head, replicas: 2}\n    publish: [{key: k, url: http://x}]"), "jobset", backend, 1)
		_, err := v1alpha1.Load([]byte(file))
		require.EqualError(t, err, `line 11: spec.clusters[0].workers[0].name: Invalid value: "head": taken by tandem: choose another name for the group`)
	}
}

func TestAnchorsAndMergeKeysAreUnderstood(t *testing.T) {
	t.Parallel()
	run, err := v1alpha1.Load([]byte(edit(t, "    head: {}\n    workers:\n    - name: gpu\n",
		"    head: &small\n      resources: {cpu: 1}\n    workers:\n    - {<<: *small, name: gpu}\n")))
	require.NoError(t, err)
	require.Equal(t, "1", run.Spec.Clusters[0].Workers[0].Resources.Cpu().String())
}

func TestOddFilesAreRefusedAndNothingBreaks(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"# only a comment\n", "---\n", "null", "text", "[]", "{}", "spec: 1", "? [a]\n: b\n", "1: 2",
		"spec: &a {<<: *a}", "spec: &a {clusters: [*a]}", "metadata: &a {name: *a}", "<<: [1]", "spec: {<<: {backend: jobset}}",
		"spec: {clusters: [null]}", "spec: {clusters: [{workers: [null]}]}", "\x00", "spec: !!binary aGk=",
	} {
		run, err := v1alpha1.Load([]byte(file))
		require.Error(t, err, file)
		require.Nil(t, run, file)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := v1alpha1.Load(data)
		if (run == nil) == (err == nil) {
			t.Fatal(errors.Join(errors.New("want a run or an error"), err))
		}
	})
}

func TestTheAddressOfGymIsHeldBackUntilItAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, publish string
		want          *v1alpha1.Condition
	}{
		{"a fixed address", `{key: gym_head_server, url: "http://$(POD_IP):9090"}`, &v1alpha1.Condition{HTTPGet: &v1alpha1.HTTPGet{Port: 9090, Path: "/global_config_dict_yaml"}}},
		{"an address that the server writes", `{key: gym_head_server, file: gym}`, &v1alpha1.Condition{HTTPGet: &v1alpha1.HTTPGet{Path: "/global_config_dict_yaml"}}},
		{"a condition of the file", `{key: gym_head_server, file: gym, when: {httpGet: {path: /x}}}`, &v1alpha1.Condition{HTTPGet: &v1alpha1.HTTPGet{Path: "/x"}}},
		{"other keys", `{key: other, url: "http://$(POD_IP):9090"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, err := v1alpha1.Load([]byte(edit(t, "    head: {}", "    head: {}\n    publish: ["+tt.publish+"]")))
			require.NoError(t, err)
			require.Equal(t, tt.want, run.Spec.Clusters[0].Publish[0].When)
		})
	}
}
