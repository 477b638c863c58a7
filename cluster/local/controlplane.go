//go:build linux

package local

import (
	"fmt"

	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// process describes a program of the cluster: args[0] is the name of a built binary.
func (c Config) process(assets, name, ready string, args ...string) supervisor.Spec {
	return supervisor.Spec{
		Name:  name,
		Args:  append([]string{assets + "/" + name}, args...),
		Log:   c.log(name),
		Ready: ready,
	}
}

func etcd(c Config, assets string) supervisor.Spec {
	return c.process(assets, "etcd", "http://127.0.0.1:2379/readyz",
		"--data-dir="+c.dir("etcd"),
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		fmt.Sprintf("--unsafe-no-fsync=%t", !c.FSync),
		"--logger=zap", "--log-level=warn",
	)
}

func apiserver(c Config, assets string) supervisor.Spec {
	return c.process(assets, "kube-apiserver", "https://"+nodeAddress+":6443/readyz",
		// Not loopback: the kubernetes Endpoints object refuses it.
		"--advertise-address="+nodeAddress,
		"--bind-address="+nodeAddress,
		"--secure-port=6443",
		"--etcd-servers=http://127.0.0.1:2379",
		"--service-cluster-ip-range="+serviceCIDR,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file="+c.pki("ca.crt"),
		"--tls-cert-file="+c.pki("apiserver.crt"),
		"--tls-private-key-file="+c.pki("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+c.pki("service-accounts.key"),
		"--service-account-signing-key-file="+c.pki("service-accounts.key"),
		// Logs and exec reach the node by its address; its name is in no DNS.
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority="+c.pki("ca.crt"),
		"--kubelet-client-certificate="+c.pki("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+c.pki("apiserver-kubelet-client.key"),
		"--allow-privileged=true",
		// Gang scheduling of Kubernetes itself, alpha in 1.35. Pods that name no Workload do not notice.
		"--feature-gates=GenericWorkload=true",
		"--runtime-config=scheduling.k8s.io/v1alpha1=true",
	)
}

func controllerManager(c Config, assets string) supervisor.Spec {
	return c.process(assets, "kube-controller-manager", "https://127.0.0.1:10257/healthz",
		"--kubeconfig="+c.kubeconfig("kube-controller-manager"),
		"--authentication-kubeconfig="+c.kubeconfig("kube-controller-manager"),
		"--authorization-kubeconfig="+c.kubeconfig("kube-controller-manager"),
		"--bind-address=127.0.0.1",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki("service-accounts.key"),
		"--root-ca-file="+c.pki("ca.crt"),
		"--cluster-signing-cert-file="+c.pki("ca.crt"),
		"--cluster-signing-key-file="+c.pki("ca.key"),
		"--allocate-node-cidrs=false", // the one node's CNI configuration has the range
		"--leader-elect=false",
	)
}

func scheduler(c Config, assets string) supervisor.Spec {
	return c.process(assets, "kube-scheduler", "https://127.0.0.1:10259/healthz",
		"--kubeconfig="+c.kubeconfig("kube-scheduler"),
		"--authentication-kubeconfig="+c.kubeconfig("kube-scheduler"),
		"--authorization-kubeconfig="+c.kubeconfig("kube-scheduler"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--feature-gates=GenericWorkload=true,GangScheduling=true", // see the API server
	)
}
