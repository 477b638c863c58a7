//go:build linux

package local_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// jobSet needs the webhook's defaults: it says nothing of completionMode, restartPolicy or DNS.
const jobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: good}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        template:
          spec:
            containers:
            - {name: main, image: tandem.dev/busybox:1, command: [/bin/sh, -c, "until busybox nslookup good-workers-1-0.good.default.svc.cluster.local; do busybox sleep 0.2; done"]}
`

const rayCluster = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: good}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: tandem.dev/busybox:1}]}}
  workerGroupSpecs:
  - &group
    groupName: workers
    replicas: 0
    minReplicas: 0
    maxReplicas: 1
    rayStartParams: {}
    template: {spec: {containers: [{name: worker, image: tandem.dev/busybox:1}]}}
`

func webhooks(t *testing.T, i instance) {
	for _, test := range []struct{ name, manifest, reason string }{
		{
			"a JobSet whose success hangs on a job that it has not",
			strings.Replace(jobSet, "spec:\n", "spec:\n  successPolicy: {operator: All, targetReplicatedJobs: [nobody]}\n", 1),
			`admission webhook "vjobset.kb.io" denied the request: invalid replicatedJob name 'nobody' does not appear in .spec.ReplicatedJobs`,
		},
		{
			"a RayCluster whose name is no name for a Service",
			strings.Replace(rayCluster, "name: good", "name: 1st", 1),
			"RayCluster name should be a valid DNS1035 label",
		},
		{
			"a RayCluster with two groups of one name",
			rayCluster + "  - *group\n", "worker group names must be unique",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := i.tryKubectl(test.manifest, "apply", "-f", "-")
			require.Error(t, err)
			require.Contains(t, out, test.reason)
		})
	}
	i.apply(t, jobSet)
	require.Equal(t, "Indexed OnFailure true", i.kubectl(t, "get", "jobset", "good", "-o", "jsonpath="+
		"{.spec.replicatedJobs[0].template.spec.completionMode} {.spec.replicatedJobs[0].template.spec.template.spec.restartPolicy} "+
		"{.spec.network.enableDNSHostnames}"))
	i.kubectl(t, "wait", "--for=condition=Completed", "--timeout=60s", "jobset/good") // its hosts have names
	i.kubectl(t, "delete", "jobset", "good")
	out, err := i.tryKubectl(rayCluster, "apply", "--dry-run=server", "-f", "-")
	require.NoError(t, err, out)
}

// reader is a pod that lists pods by its ServiceAccount's projected token, through the API server's Service.
const reader = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  serviceAccountName: reader
  containers:
  - name: main
    image: tandem.dev/kubectl:1
    command: [/bin/sh, -c, "exec busybox sleep 3600"]
`

func serviceAccounts(t *testing.T, i instance) {
	assets, err := assets()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubectl.tar")
	i.must(t, "image", "--tag", "tandem.dev/kubectl:1", "--out", file, "--link", "/bin/sh=busybox",
		"/bin/busybox=/usr/bin/busybox", "/bin/kubectl="+filepath.Join(assets, "kubectl"))
	i.must(t, "load", file)
	out, err := i.tryKubectl("", "auth", "can-i", "list", "pods", "--as=system:serviceaccount:default:default")
	require.Error(t, err, out)
	i.apply(t, reader)
	require.Equal(t, "yes", i.kubectl(t, "auth", "can-i", "list", "pods", "--as=system:serviceaccount:default:reader"))
	out, err = i.tryKubectl("", "auth", "can-i", "create", "pods", "--as=system:serviceaccount:default:reader")
	require.Error(t, err, out)

	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/reader")
	list := func(kind string) (string, error) {
		return i.tryKubectl("", "exec", "reader", "--", "sh", "-c",
			"KUBERNETES_SERVICE_HOST=kubernetes.default.svc kubectl get -o name "+kind)
	}
	out, err = list("pods")
	require.NoError(t, err, out)
	require.Contains(t, out, "pod/reader")
	out, err = list("secrets")
	require.Error(t, err)
	require.Contains(t, out, `User "system:serviceaccount:default:reader" cannot list resource "secrets"`)
	i.kubectl(t, "delete", "pod", "reader", "--now")
}
