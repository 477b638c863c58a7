// Package pod builds the pods of a run: the parts that every backend shares.
//
// It promises that
//   - the Ray container is containers[0] and named "ray", as KubeRay requires, and runs one start script on every backend;
//   - only tandem's sidecars see an API token: the pod's own is switched off, and a projected one is mounted into them alone;
//   - every wait at start is bounded by the run's startupGrace.
//
// It leaves to the backends what differs: restart policies, the objects around the pod template, and what KubeRay adds by itself
// (its wait-gcs-ready init container and /dev/shm).
//
//	template, err := pod.Head(run, cluster).Template()
package pod
