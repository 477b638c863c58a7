package kai

// Rule names a rule in messages and docs. R1 to R15 are ways to a deadlock or an eviction that come from the workload; H1 to H12 come
// from a PodGroup made by hand; the others are named by what they look at.
type Rule string

// Rules with a name of their own.
const (
	RuleVersion       Rule = "version"
	RuleGang          Rule = "gang"
	RuleMember        Rule = "member"
	RuleSchedulerName Rule = "scheduler-name"
	RuleGroupName     Rule = "group-name"
	RuleReplicas      Rule = "replicas"
	RuleMinMember     Rule = "min-member"
	RulePodGroup      Rule = "podgroup"
	RuleTopology      Rule = "topology"
	RuleQueue         Rule = "queue"
	RuleRuntimeClass  Rule = "runtime-class"
)

// What happens without them was seen with KAI 0.17.0 and KubeRay 1.6.0 for R1 to R4, R9, H1, H3 to H5, RuleMember, RuleSchedulerName,
// RuleGroupName, RuleReplicas, RuleTopology and for pods in a parent queue. The others follow from the code of the releases, or from the
// issues that they name.
type rule struct {
	id    Rule
	about string
	check func(*lint) // nil where there is nothing to see in the objects
}

var rules = []rule{
	{"R1", "dependsOn of a JobSet: what comes later is not made before the gang has started, and the gang waits for it", (*lint).dependsOn},
	{"R2", "startupPolicy InOrder of a JobSet: the same, and no gang over the stages", (*lint).inOrder},
	{"R3", "completions that differ from parallelism: the gang waits for pods that are never made, or strands the last ones", (*lint).completions},
	{"R4", "a Job that replaces failed pods: the new pod waits for others that have ended already", (*lint).retries},
	{"R5", "a RayJob whose submitter is a pod: the pod belongs to no subgroup", (*lint).submission},
	{"R6", "init containers are harmless unless they wait for something that is queued behind their own gang", nil},
	{"R7", "an autoscaled Ray group without minReplicas: the gang's minimum follows the autoscaler, and more than fits evicts all", (*lint).autoscaling},
	{"R8", "pods without GPUs in a gang are fine", nil},
	{"R9", "scheduling gates: the whole gang waits for the last one", (*lint).gates},
	{"R10", "a suspended JobSet has no pods and no PodGroup: fine", nil},
	{"R11", "exclusive placement by JobSet: followers are made once the leader has a node, and the gang waits for the followers", (*lint).exclusive},
	{"R12", "Kueue admits owner by owner, and a gang over several owners may be admitted in half", (*lint).kueue},
	{"R13", "fewer subgroups required than there are: KAI picks which, and never tries others where those do not fit", (*lint).partial},
	{"R14", "a pod whose binding another webhook refuses is tried again in every cycle", nil},
	{"R15", "segments: KAI reads their size from PyTorchJobs and LeaderWorkerSets alone", (*lint).segments},

	{"H1", "PodGroups are known by name alone: two of one name in two namespaces are one gang", (*lint).uniqueNames},
	{"H2", "a PodGroup with several owners is not deleted before all of them are", (*lint).podGroupOwners},
	{"H3", "a gang that misses a pod for longer than the grace period is deleted as a whole", (*lint).staleness},
	{"H4", "from 0.16.2 to 0.17.0 pods that succeeded count as missing: who ends first takes the others down", (*lint).earlyFinishers},
	{"H5", "minimum and number of pods are written in two places and must agree", (*lint).sizes},
	{"H6", "a suspended member keeps the rest of its gang from starting, or has it evicted", (*lint).suspendedMembers},
	{"H7", "a non-preemptible gang must fit into the quota of its queue and of all ancestors; any gang into their limits", (*lint).capacity},
	{"H8", "the minimum runtime of a queue counts from when the gang had no pods", nil},
	{"H9", "since 0.15 a required topology does not hold for pods that come back alone", (*lint).returningPods},
	{"H10", "the clean-up Job of GCS fault tolerance joins the head's subgroup and waits for a gang that is gone", (*lint).redisCleanup},
	{"H11", "a gang has one queue and one priority", (*lint).oneQueue},
	{"H12", "upstream designs another object for groups of gangs (kai#2019)", nil},

	{RuleVersion, "what the version does not have", (*lint).tooNew},
	{RuleGang, "the gang that was asked for is the one that KAI makes", (*lint).gangAsked},
	{RuleMember, "pods of a PodGroup among the objects name it, its subgroup, and skip the podgrouper", (*lint).membership},
	{RuleSchedulerName, "all pods of a gang are scheduled by KAI", (*lint).schedulerNames},
	{RuleGroupName, "names of groups become names of subgroups", (*lint).broken},
	{RuleReplicas, "numbers of replicas that KubeRay or JobSet takes and KAI does not", (*lint).brokenReplicas},
	{RuleMinMember, "what kai.scheduler/batch-min-member counts", (*lint).minMembers},
	{RulePodGroup, "what the CRD and the webhook of PodGroups refuse", (*lint).podGroups},
	{RuleTopology, "topologies name a level, and one that exists", (*lint).topologies},
	{RuleQueue, "queues have a parent, and limits for all resources", (*lint).queueTree},
	{RuleRuntimeClass, "before 0.16 the admission webhook gives whole-GPU pods the runtime class nvidia", (*lint).runtimeClass},
}

// Explained is a rule, for people.
type Explained struct {
	Rule  Rule
	About string
	// Checked is false where nothing in the objects shows it.
	Checked bool
}

// Rules lists all rules in the order in which Check goes through them.
func Rules() []Explained {
	out := make([]Explained, len(rules))
	for i, rule := range rules {
		out[i] = Explained{Rule: rule.id, About: rule.about, Checked: rule.check != nil}
	}
	return out
}
