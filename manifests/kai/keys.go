package kai

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// SchedulerName is the spec.schedulerName of pods that KAI schedules.
const SchedulerName = "kai-scheduler"

// Labels and annotations that KAI reads.
const (
	// LabelQueue is read from the top owner first, then from the pod. It only counts when the PodGroup is made: after that its
	// spec.queue does.
	LabelQueue = v1alpha1.LabelKAIQueue
	// LabelSubGroup names the leaf subgroup of a pod.
	LabelSubGroup = "kai.scheduler/subgroup-name"
	// LabelPriorityClass is read from the top owner first, then from the pod.
	LabelPriorityClass = "priorityClassName"
	// LabelRayPriorityClass wins over it on Ray's objects.
	LabelRayPriorityClass = "ray.io/priority-class-name"

	// LabelPreemptibility of a top owner or its pods is a Preemptibility. A PodGroup of NewPodGroup has a field instead.
	LabelPreemptibility = "kai.scheduler/preemptibility"

	// AnnotationPodGroup of a pod is the name of its PodGroup. It has no prefix.
	AnnotationPodGroup = "pod-group-name"
	// AnnotationSkipPodGrouper is "true" on pods or owners that the podgrouper leaves alone.
	AnnotationSkipPodGrouper = "kai.scheduler/skip-podgrouper"
	// AnnotationMinMember replaces a gang's minimum; see Features for what it counts.
	AnnotationMinMember = "kai.scheduler/batch-min-member"
	// AnnotationStaleness of a top owner is how long its gang may miss pods; negative is for ever.
	AnnotationStaleness = "kai.scheduler/staleness-grace-period"
	// AnnotationSegmentSize is read from PyTorchJobs and LeaderWorkerSets alone.
	AnnotationSegmentSize = "kai.scheduler/segment-size"

	AnnotationTopology          = "kai.scheduler/topology"
	AnnotationTopologyRequired  = "kai.scheduler/topology-required-placement"
	AnnotationTopologyPreferred = "kai.scheduler/topology-preferred-placement"
)

// LabelKueueQueue hands an object to Kueue.
const LabelKueueQueue = "kueue.x-k8s.io/queue-name"

// DefaultQueue takes the pods that name no queue.
const DefaultQueue = "default-queue"

// Member ties the pods of one template to a PodGroup made by NewPodGroup.
type Member struct {
	PodGroup string // its name
	SubGroup string // the leaf: SubGroupName of the cluster and group
	Queue    string // the PodGroup's
}

// PodLabels belong into the pod template.
func (m Member) PodLabels() map[string]string {
	return map[string]string{LabelSubGroup: m.SubGroup, LabelQueue: m.Queue}
}

// PodAnnotations belong into the pod template. The podgrouper sees them before it looks at the owners.
func (m Member) PodAnnotations() map[string]string {
	return map[string]string{AnnotationPodGroup: m.PodGroup, AnnotationSkipPodGrouper: "true"}
}

// OwnerLabels belong on the JobSet, RayCluster, RayJob or Job. KAI does not read them there, but KubeRay and metrics do.
func (m Member) OwnerLabels() map[string]string { return map[string]string{LabelQueue: m.Queue} }

// OwnerAnnotations belong on the same object; KubeRay copies those of a RayJob to its RayCluster.
func (m Member) OwnerAnnotations() map[string]string {
	return map[string]string{AnnotationSkipPodGrouper: "true"}
}

// Annotations are the topology constraint as owners and pod templates say it. Read from the top owner for its whole gang, from the
// template of a Ray group (Features.RayTopologyPerGroup) or of a replicatedJob (JobSetTree) for each of its subgroups.
func (c TopologyConstraint) Annotations() map[string]string {
	out := map[string]string{AnnotationTopology: c.Topology}
	if c.Required != "" {
		out[AnnotationTopologyRequired] = c.Required
	}
	if c.Preferred != "" {
		out[AnnotationTopologyPreferred] = c.Preferred
	}
	return out
}

// StalenessAnnotations belong on the top owner of a gang that the podgrouper makes. A PodGroup of NewPodGroup has a field instead.
func StalenessAnnotations(v Version, grace time.Duration) (map[string]string, error) {
	if !v.Features().StalenessGracePeriod {
		return nil, noStaleness(v)
	}
	return map[string]string{AnnotationStaleness: grace.String()}, nil
}

func noStaleness(v Version) error {
	return fmt.Errorf("KAI %s has no staleness grace period for one workload, only the scheduler's flag --default-staleness-grace-period; "+
		"upgrade to 0.17 or leave it out", v)
}

// Mode is what is asked to start together.
type Mode string

const (
	GangPerRun     Mode = "run"     // one gang over all owners
	GangPerCluster Mode = "cluster" // each owner by itself
	GangNone       Mode = "none"
)

// ErrNoGang: the version has no way to make the gang asked for, or to avoid one.
var ErrNoGang = errors.New("this KAI version cannot do that")

// MinMember are the annotations that make a JobSet of so many pods a gang of its own, or none.
type MinMember struct {
	Owner    map[string]string // on the JobSet
	Template map[string]string // on each replicatedJobs[].template
}

// JobSetMinMember says how to annotate a JobSet of that many pods for GangPerCluster or GangNone.
func JobSetMinMember(v Version, mode Mode, pods int32) (MinMember, error) {
	features := v.Features()
	one, all := annotateMin(1), annotateMin(pods)
	switch {
	case mode == GangPerRun:
		return MinMember{}, fmt.Errorf("JobSet with gang %q: %w; members of a PodGroup over the whole run carry no minimum", mode, ErrNoGang)
	case mode == GangPerCluster && features.JobSet == JobSetNone:
		return MinMember{}, fmt.Errorf("JobSet on KAI %s: %w: it starts pod by pod before 0.13; upgrade, or use gang: none", v, ErrNoGang)
	case mode == GangPerCluster && features.JobSetMinMember == UnitPods:
		return MinMember{Owner: all}, nil
	case mode == GangPerCluster || features.JobSet == JobSetNone:
		return MinMember{}, nil
	case features.JobSetMinMember == UnitNone:
		return MinMember{}, fmt.Errorf("JobSet on KAI %s: %w: it is always a gang from 0.13.0 to 0.14.0; upgrade, or use gang: cluster", v, ErrNoGang)
	case features.TemplateMinMember:
		return MinMember{Owner: one, Template: one}, nil
	default:
		return MinMember{Owner: one}, nil
	}
}

// JobMinMember are the annotations that make a batch Job of so many pods a gang.
func JobMinMember(v Version, pods int32) (map[string]string, error) {
	if !v.Features().JobMinMember {
		return nil, fmt.Errorf("batch Job on KAI %s: %w: it starts pod by pod before 0.14.1; upgrade, or use gang: none", v, ErrNoGang)
	}
	return annotateMin(pods), nil
}

func annotateMin(pods int32) map[string]string {
	return map[string]string{AnnotationMinMember: strconv.Itoa(int(pods))}
}
