//go:build linux

package local

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

const pauseImage = "tandem.dev/pause:1"

func containerd(c Config) (supervisor.Spec, error) {
	path, err := exec.LookPath("containerd")
	if err != nil {
		return supervisor.Spec{}, err
	}
	return supervisor.Spec{
		Name:  "containerd",
		Args:  []string{path, "--config", c.dir("containerd.toml"), "--log-level", "warn"},
		Log:   c.log("containerd"),
		Ready: "unix://" + c.containerdSocket(),
	}, nil
}

// containerdConfig is for containerd 1.6 and 1.7 (configuration version 2).
const containerdConfig = `version = 2
root = %[1]q
state = "/run/containerd"

[grpc]
  address = %[2]q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[3]q
  # The machine may lack CAP_SYS_RESOURCE (a container, a micro VM): never ask for less OOM score than one has.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = %[4]q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// cniConfig gives each pod a cable of its own to the node (ptp) instead of a bridge: all traffic between pods is
// routed, so that Service addresses work in every kernel, with or without br_netfilter. There is no masquerading.
func cniConfig() ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"cniVersion": "0.4.0",
		"name":       "tandem-local",
		"plugins": []any{
			map[string]any{
				"type": "ptp", "ipMasq": false, "mtu": 1500,
				"ipam": map[string]any{
					"type": "host-local", "subnet": podCIDR,
					"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}},
		},
	}, "", "  ")
}

func kubelet(c Config, assets string) supervisor.Spec {
	return c.process(assets, "kubelet", "http://127.0.0.1:10248/healthz",
		"--config="+c.dir("kubelet.yaml"),
		"--kubeconfig="+c.kubeconfig("kubelet"),
		"--hostname-override="+nodeName,
		"--node-ip="+nodeAddress,
		"--root-dir=/var/lib/kubelet",
	)
}

// kubeletSysctls are what the kubelet wants the kernel's settings to be; it writes those that are not.
var kubeletSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

func kubeletConfiguration(c Config) kubeletconfig.KubeletConfiguration {
	return kubeletconfig.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Authentication: kubeletconfig.KubeletAuthentication{
			X509:      kubeletconfig.KubeletX509Authentication{ClientCAFile: c.pki("ca.crt")},
			Anonymous: kubeletconfig.KubeletAnonymousAuthentication{Enabled: new(false)},
			Webhook:   kubeletconfig.KubeletWebhookAuthentication{Enabled: new(true)},
		},
		Authorization:            kubeletconfig.KubeletAuthorization{Mode: kubeletconfig.KubeletAuthorizationModeWebhook},
		TLSCertFile:              c.pki("kubelet-server.crt"),
		TLSPrivateKeyFile:        c.pki("kubelet-server.key"),
		ContainerRuntimeEndpoint: "unix://" + c.containerdSocket(),
		CgroupDriver:             "cgroupfs",
		CgroupRoot:               "/" + c.cgroupName(),
		FailCgroupV1:             new(false),
		FailSwapOn:               new(false),
		EnforceNodeAllocatable:   []string{"none"},
		// Ephemeral storage is that of the whole machine, which is not this cluster's to judge: no quota of it, no
		// eviction by it and no garbage collection of images, which were imported and cannot be pulled again.
		LocalStorageCapacityIsolation: new(false),
		EvictionHard: map[string]string{
			"memory.available": "100Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%",
		},
		ImageGCHighThresholdPercent: new(int32(100)),
		ClusterDNS:                  []string{nodeAddress},
		ClusterDomain:               "cluster.local",
		ResolverConfig:              new(c.dir("resolv.conf")),
		PodLogsDir:                  c.dir("log", "pods"),
		// So that GPUs show soon after their plugin has registered; the default is 10 s.
		NodeStatusUpdateFrequency: metav1.Duration{Duration: 2 * time.Second},
		NodeStatusReportFrequency: metav1.Duration{Duration: 5 * time.Minute}, // without a change, as is the default
		MaxPods:                   250,
		SerializeImagePulls:       new(false),
		RegisterNode:              new(true),
	}
}

// writeNodeFiles writes the configuration of containerd, CNI and kubelet.
func writeNodeFiles(c Config) error {
	cni, err := cniConfig()
	if err != nil {
		return err
	}
	kubelet, err := yaml.Marshal(kubeletConfiguration(c))
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{
		c.dir("cni", "10-tandem-local.conflist"): cni,
		c.dir("kubelet.yaml"):                    kubelet,
		c.dir("containerd.toml"): fmt.Appendf(nil, containerdConfig,
			c.dir("containerd"), c.containerdSocket(), pauseImage, c.dir("cni")),
		// Pods that ask for the node's DNS get the cluster's: there is no other to ask.
		c.dir("resolv.conf"): []byte("nameserver " + nodeAddress + "\n"),
	} {
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func kubeProxy(c Config, assets string) supervisor.Spec {
	return c.process(assets, "kube-proxy", "http://127.0.0.1:10256/healthz",
		"--kubeconfig="+c.kubeconfig("kube-proxy"),
		"--hostname-override="+nodeName,
		"--proxy-mode=iptables",
		"--cluster-cidr="+podCIDR,
		"--iptables-localhost-nodeports=false",
		// The connection table's size belongs to the whole machine.
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0s",
		"--conntrack-tcp-timeout-close-wait=0s",
		"--healthz-bind-address=127.0.0.1:10256",
		"--metrics-bind-address=127.0.0.1:10249",
	)
}
