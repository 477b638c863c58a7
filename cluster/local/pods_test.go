//go:build linux

package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serverAndClient are a pod that says hello behind a Service, and one to ask it from.
const serverAndClient = `
apiVersion: v1
kind: Pod
metadata: {name: server, labels: {app: server}}
spec:
  containers:
  - name: main
    image: tandem.dev/busybox:1
    command: [/bin/sh, -c, "mkdir -p /tmp/w; echo hello > /tmp/w/index.html; exec busybox httpd -f -p 8080 -h /tmp/w"]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: server}
spec: {selector: {app: server}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  containers:
  - name: main
    image: tandem.dev/busybox:1
    command: [/bin/sh, -c, "mkdir /tmp/b; busybox --install -s /tmp/b; exec sleep 3600"]
    env: [{name: PATH, value: "/tmp/b:/bin"}]
`

func (i instance) startServerAndClient(t *testing.T) {
	t.Helper()
	i.apply(t, serverAndClient)
	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/server", "pod/client")
	i.awaitKubeProxy(t, "server")
}

// awaitKubeProxy waits until kube-proxy has made its rules for a Service. A packet that is sent to the address before
// that finds nobody, is sent again by TCP a second later, and counts as dropped.
func (i instance) awaitKubeProxy(t *testing.T, service string) {
	t.Helper()
	network := fmt.Sprintf("--net=/proc/%d/ns/net", i.record(t).PID)
	eventually(t, 30*time.Second, func() error {
		rules := output(t, "nsenter", network, "iptables-save", "-t", "nat")
		if !slices.ContainsFunc(rules, func(rule string) bool {
			return strings.HasPrefix(rule, "-A KUBE-SEP-") && strings.Contains(rule, `"default/`+service+`"`)
		}) {
			return fmt.Errorf("kube-proxy has no endpoint of Service %s yet", service)
		}
		return nil
	})
}

// inClient runs a shell command in the client's pod.
func (i instance) inClient(script string) (string, error) {
	return i.tryKubectl("", "exec", "client", "--", "sh", "-c", script)
}

// served asks the server by its Service's name, which takes DNS, kube-proxy and both pods.
func (i instance) served() error {
	// Not by wget: that of a static busybox cannot resolve names, and even crashes.
	out, err := i.inClient(`ip=$(nslookup server.default.svc.cluster.local | sed -n 's/^Address: //p')
		[ -n "$ip" ] && printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 2 $ip 80`)
	if err != nil || !strings.HasSuffix(out, "hello") {
		return fmt.Errorf("ask the server: %q (%w)", out, err)
	}
	return nil
}

func servicesAndDNS(t *testing.T, i instance) {
	i.startServerAndClient(t)
	eventually(t, 30*time.Second, i.served)
	out, err := i.inClient(`nslookup somewhere.example.com 2>&1; echo "exit code $?"`)
	require.NoError(t, err)
	require.NotContains(t, out, "exit code 0", "a name outside the cluster")
	require.Contains(t, out, "NXDOMAIN")
}

// gpuPod is a pod that asks for n GPUs and says which it got.
func gpuPod(name string, n int) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: %s
    command: [/bin/sh, -c, "echo $NVIDIA_VISIBLE_DEVICES; exec busybox sleep 3600"]
    resources: {limits: {nvidia.com/gpu: %d}}
`, name, busybox, n)
}

func gpus(t *testing.T, i instance) {
	i.apply(t, gpuPod("gpu-a", 2)+gpuPod("gpu-b", 2))
	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/gpu-a", "pod/gpu-b")
	seen := map[string]bool{}
	for _, pod := range []string{"gpu-a", "gpu-b"} {
		devices := strings.Split(i.kubectl(t, "logs", pod), ",")
		require.Len(t, devices, 2, "devices of %s", pod)
		for _, device := range devices {
			require.Regexp(t, `^GPU-fake-[0-3]$`, device)
			require.False(t, seen[device], "%s is given twice", device)
			seen[device] = true
		}
	}
	i.apply(t, gpuPod("gpu-c", 1))
	i.kubectl(t, "wait", "--for=condition=PodScheduled=false", "--timeout=60s", "pod/gpu-c")
	require.Equal(t, "Pending", i.kubectl(t, "get", "pod", "gpu-c", "-o=jsonpath={.status.phase}"))
	require.Contains(t, i.kubectl(t, "get", "pod", "gpu-c", "-o=jsonpath={.status.conditions[*].message}"), "Insufficient nvidia.com/gpu")

	i.kubectl(t, "delete", "pod", "gpu-a")
	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/gpu-c") // freed GPUs are given again
	i.kubectl(t, "delete", "pod", "gpu-b", "gpu-c")
}

const toleratingPod = `
apiVersion: v1
kind: Pod
metadata: {name: simulated}
spec:
  nodeSelector: {topology.kubernetes.io/zone: zone-0}
  tolerations: [{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]
  containers: [{name: main, image: example.com/never-pulled:1, resources: {limits: {nvidia.com/gpu: 8}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: intolerant}
spec:
  nodeSelector: {type: kwok}
  containers: [{name: main, image: example.com/never-pulled:1}]
`

func simulatedNodes(t *testing.T, i instance) {
	nodes := i.kubectl(t, "get", "nodes", "-l", "type=kwok", "--sort-by=.metadata.name", "-o", `jsonpath={range .items[*]}`+
		`{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.status.allocatable.nvidia\.com/gpu} `+
		`{.metadata.labels.nvidia\.com/gpu\.clique} {.metadata.labels.topology\.kubernetes\.io/zone} `+
		`{.spec.taints[*].key}={.spec.taints[*].value}:{.spec.taints[*].effect}{"\n"}{end}`)
	var want []string
	for n := range 3 {
		want = append(want, fmt.Sprintf("fake-%d True 8 clique-0 zone-0 kwok.x-k8s.io/node=fake:NoSchedule", n))
	}
	require.Equal(t, want, strings.Split(nodes, "\n"))

	i.apply(t, toleratingPod)
	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/simulated")
	require.Equal(t, "Running", i.kubectl(t, "get", "pod", "simulated", "-o=jsonpath={.status.phase}"))
	require.Regexp(t, `^fake-[0-2]$`, i.kubectl(t, "get", "pod", "simulated", "-o=jsonpath={.spec.nodeName}"))
	i.kubectl(t, "wait", "--for=condition=PodScheduled=false", "--timeout=60s", "pod/intolerant")
	require.Contains(t, i.kubectl(t, "get", "pod", "intolerant", "-o=jsonpath={.status.conditions[*].message}"), "untolerated taint")
	i.kubectl(t, "delete", "pod", "simulated", "intolerant")
}
