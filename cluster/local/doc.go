// Package local runs a real Kubernetes on one Linux machine without Docker: etcd, the control plane, one node
// with containerd and kubelet, the JobSet controller and the KubeRay operator, all built from Go modules.
//
// An instance lives in PID, mount, network, IPC and UTS namespaces of its own. What follows from that:
//   - Instances do not meet: each has its own addresses, ports, packet rules, /run and /var/lib.
//   - Nothing leaves the machine: the instance has no interface that leads out, and the host has rules that would
//     drop and count packets for its addresses. The API server is reached through a port on the host's loopback.
//   - [Down] leaves nothing: when the first process ends, the kernel takes the others, their mounts and their
//     interfaces; files, cgroups and the host's rules are removed by name.
//
// It is made for tests and demos. Data is not durable (etcd runs without fsync unless [Config].FSync), there is one
// real node, and the controllers run with administrator's rights. The user's own pods run with real RBAC.
//
//	cfg := local.Config{Name: "demo", GPUs: 8}
//	cluster, err := local.Up(ctx, cfg, os.Stderr)
//	... cluster.Kubeconfig ...
//	_, err = local.Down(ctx, cfg, os.Stderr)
package local
