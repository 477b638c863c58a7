package kai

// Features is what a version does that rendering, Gangs and Check depend on.
type Features struct {
	// SkipPodGrouper: the podgrouper leaves pods alone that carry AnnotationSkipPodGrouper, so that one PodGroup can hold many owners.
	SkipPodGrouper bool
	// JobSet is the shape of the PodGroups made of a JobSet.
	JobSet JobSetShape
	// JobSetMinMember is what AnnotationMinMember counts on a JobSet.
	JobSetMinMember Unit
	// TemplateMinMember: AnnotationMinMember on a replicatedJob's template is the minimum of each of its Jobs.
	TemplateMinMember bool
	// JobMinMember: a batch Job is one PodGroup, and AnnotationMinMember its minimum; before that each pod had its own.
	JobMinMember bool
	// RaySubGroups: the head and each worker group of a RayCluster are a subgroup; before that only their sum counted.
	RaySubGroups bool
	// RayTopologyPerGroup: topology annotations of a head's or worker group's pod template hold for its subgroup.
	RayTopologyPerGroup bool
	// MinSubGroup: PodGroups and parent subgroups say how many of their children they need.
	MinSubGroup bool
	// LeafMinMemberRequired: a leaf subgroup without minMember is refused, one of 0 is allowed; before that it was the other way round.
	LeafMinMemberRequired bool
	// SubGroupNamePattern: the name of a subgroup must be a DNS label.
	SubGroupNamePattern bool
	// StalenessGracePeriod: how long a gang may miss pods is a field of the PodGroup; before that only a flag of the scheduler.
	StalenessGracePeriod bool
	// TopologyAlias: the levels of a Topology may have names besides their node labels.
	TopologyAlias bool
	// UnknownSubGroupReported: a pod whose subgroup does not exist gets a condition; before that it just stays pending.
	UnknownSubGroupReported bool
	// TerminalPodsHidden: pods that succeeded vanish from the scheduler, so that a gang whose members end one by one looks broken.
	TerminalPodsHidden bool
	// QueueWithoutParent: a leaf queue without a parent is used; before that its pods were never scheduled.
	QueueWithoutParent bool
	// RuntimeClassInjected: the admission webhook adds the runtime class nvidia to every pod that asks for whole GPUs, which is refused
	// where that class does not exist.
	RuntimeClassInjected bool
}

// JobSetShape is how a version groups the pods of a JobSet.
type JobSetShape string

const (
	JobSetNone     JobSetShape = "none"     // a PodGroup for each pod: no gang
	JobSetFlat     JobSetShape = "flat"     // one PodGroup whose minimum is all pods; one for each replicatedJob where they start in order
	JobSetFlatMin1 JobSetShape = "flatMin1" // the same with a minimum of 1, unless annotated
	JobSetTree     JobSetShape = "tree"     // one PodGroup with a subgroup for each replicatedJob and, below it, one for each of its Jobs
)

// Unit is what an annotation's number counts.
type Unit string

const (
	UnitNone           Unit = "nothing" // the annotation is not read
	UnitPods           Unit = "pods"
	UnitReplicatedJobs Unit = "replicatedJobs"
)

// row is one thing that changed between releases.
type row struct {
	what   string
	span   span
	set    func(*Features)
	source string
}

// matrix was read from the releases at the ends of each span; a source is the pull request, commit or file where it changed.
var matrix = []row{
	{"annotation kai.scheduler/skip-podgrouper", from(15, 0), func(f *Features) { f.SkipPodGrouper = true }, "kai#1552, commit 313dddd1"},
	{"a JobSet is one gang of all its pods", from(13, 0).until(15, 0), func(f *Features) { f.JobSet = JobSetFlat }, "kai#784, podgrouper/plugins/jobset"},
	{"a JobSet is a gang of 1 pod unless annotated", from(15, 0).until(16, 0), func(f *Features) { f.JobSet = JobSetFlatMin1 }, "podgrouper/plugins/jobset"},
	{"a JobSet is a tree of subgroups", from(16, 0), func(f *Features) { f.JobSet = JobSetTree }, "kai#1189, kai#1617"},
	{"kai.scheduler/batch-min-member of a JobSet counts pods", from(14, 1).until(16, 0), func(f *Features) { f.JobSetMinMember = UnitPods }, "kai#1308"},
	{"kai.scheduler/batch-min-member of a JobSet counts replicatedJobs", from(16, 0), func(f *Features) { f.JobSetMinMember = UnitReplicatedJobs }, "kai#1617"},
	{"kai.scheduler/batch-min-member of a replicatedJob's template counts pods", from(16, 0), func(f *Features) { f.TemplateMinMember = true }, "kai#1617"},
	{"a batch Job is one PodGroup and reads kai.scheduler/batch-min-member", from(14, 1), func(f *Features) { f.JobMinMember = true }, "kai#1308, podgrouper/plugins/job"},
	{"subgroups for the groups of a RayCluster", from(12, 12), func(f *Features) { f.RaySubGroups = true }, "kai#924"},
	{"topology annotations of a Ray group", from(14, 0), func(f *Features) { f.RayTopologyPerGroup = true }, "kai#1125"},
	{"minSubGroup of a PodGroup", from(15, 0), func(f *Features) { f.MinSubGroup = true }, "commit f2c6e610"},
	{"minMember of a leaf subgroup is required, 0 allowed", from(15, 0), func(f *Features) { f.LeafMinMemberRequired = true }, "podgroup_webhook.go and the CRD"},
	{"the name of a subgroup must be a DNS label", from(15, 0), func(f *Features) { f.SubGroupNamePattern = true }, "the CRD"},
	{"stalenessGracePeriod of a PodGroup", from(17, 0), func(f *Features) { f.StalenessGracePeriod = true }, "kai#1942, commit 0213e667"},
	{"alias of a Topology's level", from(17, 0), func(f *Features) { f.TopologyAlias = true }, "the CRD"},
	{"a pod of an unknown subgroup gets a condition", from(15, 0), func(f *Features) { f.UnknownSubGroupReported = true }, "scheduler/api/podgroup_info"},
	{"pods that succeeded vanish from the scheduler", from(16, 2).until(17, 1), func(f *Features) { f.TerminalPodsHidden = true }, "commits 04e8472c and 3767c11e, kai#1968, kai#2022"},
	{"a queue without parent is used", from(13, 0), func(f *Features) { f.QueueWithoutParent = true }, "kai#621, job_order_by_queue.go"},
	{"the admission webhook gives whole-GPU pods the runtime class nvidia", from(12, 0).until(16, 0), func(f *Features) { f.RuntimeClassInjected = true }, "admission webhook"},
}

// Features of the version.
func (v Version) Features() Features {
	features := Features{JobSet: JobSetNone, JobSetMinMember: UnitNone}
	for _, row := range matrix {
		if row.span.has(v) {
			row.set(&features)
		}
	}
	return features
}
