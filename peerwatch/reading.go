package peerwatch

import "fmt"

// reading is what an object says, whatever its kind.
type reading struct {
	suspended bool
	// ended is how it ended, why what it says about that.
	ended JobCondition
	why   string
	// head is the readiness of the Ray head; nil where there is none.
	head *condition
	// wasReady: the head was ready once.
	wasReady bool
	// failure is why pods could not be made or deleted the last time; empty if they could.
	failure string
	// groups are the sets of pods that need a number. Of replicas the object says how many there are.
	groups []Group
	// incarnation changes when its pods are started anew without a failure of it.
	incarnation string
	// holds: it keeps its pods after its end.
	holds bool
}

func readRayCluster(o object) reading {
	r := reading{suspended: o.suspended(), groups: o.Spec.groups()}
	r.readRay(o.Status.Conditions)
	return r
}

// readRay reads the conditions of a RayCluster. Its status.state is not looked at: KubeRay leaves it "ready" when the
// head has died. RayClusterProvisioned says that all pods were ready once, and is taken back only by a suspension.
func (r *reading) readRay(conditions []condition) {
	head := find(conditions, "HeadPodReady")
	if head.Type == "" {
		head.Message = "no condition HeadPodReady"
	}
	r.head, r.wasReady = &head, isTrue(conditions, "RayClusterProvisioned")
	if isTrue(conditions, "ReplicaFailure") {
		r.failure = find(conditions, "ReplicaFailure").text()
	}
}

// readRayJob: KubeRay calls a Ray job that somebody stopped Complete, which is no success. A retry has another cluster.
func readRayJob(o object) reading {
	s := o.Status
	r := reading{incarnation: o.rayJobCluster(), groups: o.Spec.RayCluster.groups(), holds: !o.Spec.ShutdownAfterJobFinishes}
	r.readRay(s.RayClusterStatus.Conditions)
	said := condition{Reason: s.Reason, Message: s.Message}.text()
	switch s.JobDeploymentStatus {
	case "Complete":
		r.ended = Complete
		if s.JobStatus != "SUCCEEDED" {
			r.ended, r.why = Failed, because(fmt.Sprintf("its Ray job is %q", s.JobStatus), said)
		}
	case "Failed", "ValidationFailed":
		r.ended, r.why = Failed, because(s.JobDeploymentStatus, said)
	case "Suspending", "Suspended":
		r.suspended = true
	}
	r.suspended = r.suspended || o.Spec.Suspend
	return r
}

// rayJobCluster is the RayCluster that a RayJob has for now. One that tries again gives up the one it names.
func (o object) rayJobCluster() string {
	if o.Status.JobDeploymentStatus == "Retrying" {
		return ""
	}
	return o.Status.RayClusterName
}

func readJobSet(o object) reading {
	r := reading{suspended: o.Spec.Suspend || isTrue(o.Status.Conditions, "Suspended")}
	r.readEnd(o, "Completed", "Failed")
	return r
}

func readJob(o object) reading {
	r := reading{suspended: o.Spec.Suspend || isTrue(o.Status.Conditions, "Suspended")}
	r.readEnd(o, "Complete", "Failed")
	return r
}

func (r *reading) readEnd(o object, complete, failed string) {
	switch conditions := o.Status.Conditions; {
	case isTrue(conditions, complete):
		r.ended, r.why = Complete, find(conditions, complete).text()
	case isTrue(conditions, failed):
		r.ended, r.why = Failed, find(conditions, failed).text()
	}
}

// readReplicas of a StatefulSet or Deployment. Without a number it has one.
func readReplicas(o object) reading {
	want := 1
	if o.Spec.Replicas != nil {
		want = *o.Spec.Replicas
	}
	return reading{groups: []Group{{Name: groupReplicas, Min: want, Have: o.Status.AvailableReplicas}}}
}

// Groups that are no worker groups.
const (
	groupReplicas = "available replicas"
	groupPods     = "pods"
)
