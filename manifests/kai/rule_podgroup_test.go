package kai_test

import (
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestPodGroupsAmongTheObjects(t *testing.T) {
	t.Parallel()
	run(t, podGroupCases(t))
}

func TestWhatAVersionCanDo(t *testing.T) {
	t.Parallel()
	run(t, versionCases(t))
}

func TestQueuesAndTopologies(t *testing.T) {
	t.Parallel()
	run(t, queueCases(t))
}

// changed is the PodGroup of run7 for a version, with one change.
func changed(t *testing.T, version string, change func(*kai.PodGroup)) []any {
	t.Helper()
	return gangOfTwo(t, version, func(run *runObjects) { change(run.group) })
}

func podGroupCases(t *testing.T) []violationCase {
	t.Helper()
	spec := func(change func(*kai.PodGroupSpec)) []any {
		return changed(t, "0.17.0", func(group *kai.PodGroup) { change(&group.Spec) })
	}
	subGroup := func(change func(*kai.SubGroupSpec)) []any {
		return spec(func(spec *kai.PodGroupSpec) { change(&spec.SubGroups[0]) })
	}
	rack := &kai.TopologyConstraint{Topology: "dc", Required: "example.com/rack"}
	twin := podGroup(t, "0.17.0", run7())
	twin.Metadata.Namespace = "other"
	const first = "spec.subGroups[0]"
	out := []violationCase{
		{rule: "R13", name: "a part of the subgroups", objects: spec(func(s *kai.PodGroupSpec) { s.MinSubGroup = ptr.To[int32](3) }), object: gang, field: "spec.minSubGroup", message: "3 of 5 subgroups"},
		{rule: "R13", name: "a part of a parent's subgroups", objects: spec(func(s *kai.PodGroupSpec) {
			s.SubGroups[0] = kai.SubGroupSpec{Name: "rl", MinSubGroup: ptr.To[int32](1)}
			s.SubGroups[1].Parent, s.SubGroups[2].Parent = "rl", "rl"
			s.MinSubGroup = ptr.To[int32](3)
		}), object: gang, field: first + ".minSubGroup", message: "1 of 2 subgroups"},
		{rule: "R13", name: "all of the subgroups", objects: spec(func(*kai.PodGroupSpec) {})},
		{rule: "H1", name: "one name in two namespaces", objects: append(gangOfTwo(t, "0.17.0"), twin), object: gang, field: "metadata.name", message: `namespaces "post-train" and "other"`},
		{rule: "H2", name: "two owners", objects: changed(t, "0.17.0", func(group *kai.PodGroup) {
			group.Metadata.OwnerReferences = []kai.OwnerReference{{Kind: "RayCluster", Name: "rl"}, {Kind: "RayCluster", Name: "gym"}}
		}), object: gang, field: "metadata.ownerReferences", message: "2 owners", warning: true},
		{rule: "H3", name: "no grace period", objects: spec(func(s *kai.PodGroupSpec) { s.StalenessGracePeriod = "" }), object: gang, field: "spec.stalenessGracePeriod", message: "takes all 7 pods down; write one", warning: true},
		{rule: "H3", name: "no grace period before 0.17", version: "0.16.8", objects: gangOfTwo(t, "0.16.8"), object: gang, field: "spec.stalenessGracePeriod", message: "only the scheduler's flag", warning: true},
		{rule: "H3", name: "a grace period in an annotation", objects: changed(t, "0.17.0", func(group *kai.PodGroup) {
			group.Metadata.Annotations = map[string]string{kai.AnnotationStaleness: "15m"}
		}), object: gang, field: "metadata.annotations[kai.scheduler/staleness-grace-period]", message: "write spec.stalenessGracePeriod", warning: true},
		{rule: "H3", name: "a grace period", objects: gangOfTwo(t, "0.17.0")},
		{rule: "H9", name: "a required domain over a single pod", objects: spec(func(s *kai.PodGroupSpec) { s.TopologyConstraint = rack }), object: gang, field: first, message: `the one pod of "rl-head"`, warning: true},
		{rule: "H9", name: "a required domain of the pod itself", objects: subGroup(func(s *kai.SubGroupSpec) { s.TopologyConstraint = rack })},
	}
	for _, c := range []struct {
		name, field, message string
		objects              []any
	}{
		{"minMember beside minSubGroup", "spec.minMember", "excludes minSubGroup", spec(func(s *kai.PodGroupSpec) { s.MinMember = ptr.To[int32](7) })},
		{"minMember of 0", "spec.minMember", "0: must be at least 1", spec(func(s *kai.PodGroupSpec) { s.MinMember, s.MinSubGroup = ptr.To[int32](0), nil })},
		{"minSubGroup of 0", "spec.minSubGroup", "0: must be at least 1", spec(func(s *kai.PodGroupSpec) { s.MinSubGroup = ptr.To[int32](0) })},
		{"no queue", "spec.queue", "name a leaf queue", spec(func(s *kai.PodGroupSpec) { s.Queue = "" })},
		{"an unknown preemptibility", "spec.preemptibility", `"never"`, spec(func(s *kai.PodGroupSpec) { s.Preemptibility = "never" })},
		{"one try only", "spec.schedulingBackoff", "never tried again", spec(func(s *kai.PodGroupSpec) { s.SchedulingBackoff = ptr.To[int32](1) })},
		{"a grace period without unit", "spec.stalenessGracePeriod", "-1s for never", spec(func(s *kai.PodGroupSpec) { s.StalenessGracePeriod = "-1" })},
		{"a name that is too long", "metadata.name", "at most 253", changed(t, "0.17.0", func(g *kai.PodGroup) { g.Metadata.Name = strings.Repeat("x", 254) })},
		{"two subgroups of one name", "spec.subGroups[1].name", "another subgroup has this name", spec(func(s *kai.PodGroupSpec) { s.SubGroups[1].Name = "rl-head" })},
		{"a subgroup whose name is no DNS label", first + ".name", "must be a DNS label", subGroup(func(s *kai.SubGroupSpec) { s.Name = "rl_head" })},
		{"a subgroup whose name is too long", first + ".name", "is a label value", subGroup(func(s *kai.SubGroupSpec) { s.Name = strings.Repeat("x", 64) })},
		{"a subgroup without a name", first + ".name", "is a label value", subGroup(func(s *kai.SubGroupSpec) { s.Name = "" })},
		{"a parent that is not there", first + ".parent", "no subgroup has this name", subGroup(func(s *kai.SubGroupSpec) { s.Parent = "rl" })},
		{"a leaf without a minimum", first + ".minMember", "required since KAI 0.15", subGroup(func(s *kai.SubGroupSpec) { s.MinMember = nil })},
		{"a leaf with a minimum of subgroups", first + ".minSubGroup", "has no children", subGroup(func(s *kai.SubGroupSpec) { s.MinSubGroup = ptr.To[int32](1) })},
		{"a negative minimum", first + ".minMember", "at least 0", subGroup(func(s *kai.SubGroupSpec) { s.MinMember = ptr.To[int32](-1) })},
		{"a parent with a minimum of pods", first + ".minMember", "it takes minSubGroup", spec(func(s *kai.PodGroupSpec) { s.SubGroups[1].Parent = "rl-head" })},
		{"parents in a circle", "spec.subGroups", "circle: rl-head, rl-workers", spec(func(s *kai.PodGroupSpec) {
			for i := range 2 {
				s.SubGroups[i].Parent, s.SubGroups[i].MinMember = s.SubGroups[1-i].Name, nil
			}
		})},
		{"a topology without a level", "spec.topologyConstraint", "would never be scheduled", spec(func(s *kai.PodGroupSpec) { s.TopologyConstraint = &kai.TopologyConstraint{Topology: "dc"} })},
		{"a level without a topology", first + ".topologyConstraint.topology", "name the Topology", subGroup(func(s *kai.SubGroupSpec) { s.TopologyConstraint = &kai.TopologyConstraint{Required: "rack"} })},
	} {
		out = append(out, violationCase{rule: kai.RulePodGroup, name: c.name, objects: c.objects, object: objectOf(c.objects), field: c.field, message: c.message})
	}
	out = append(out, violationCase{
		rule: kai.RulePodGroup, name: "a field of the scheduler's", objects: spec(func(s *kai.PodGroupSpec) { s.MarkUnschedulable = ptr.To(true) }),
		object: gang, field: "spec.markUnschedulable", message: "leave it out", warning: true,
	})
	return out
}

// objectOf is how the PodGroup among the objects is called.
func objectOf(objects []any) string { return objects[0].(*kai.PodGroup).String() }

func versionCases(t *testing.T) []violationCase {
	t.Helper()
	minMember, staleness := "metadata.annotations[kai.scheduler/batch-min-member]", "metadata.annotations[kai.scheduler/staleness-grace-period]"
	rack := kai.TopologyConstraint{Topology: "dc", Required: "example.com/rack"}.Annotations()
	topologyOfWorkers := workers(func(group *rayv1.WorkerGroupSpec) { group.Template.Annotations = rack })
	topologyOfTrainers := trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Annotations = rack })
	templateMin := func(n string) func(*v1alpha2.JobSet) {
		return trainers(func(job *v1alpha2.ReplicatedJob) {
			job.Template.Annotations = map[string]string{kai.AnnotationMinMember: n}
		})
	}
	annotatedJob := func(n string) any {
		return job("batch", 3, func(job *batchv1.Job) { job.Annotations[kai.AnnotationMinMember] = n })
	}
	elastic := workers(func(group *rayv1.WorkerGroupSpec) { group.MinReplicas = ptr.To[int32](1) })
	aliased := &kai.Topology{APIVersion: "kai.scheduler/v1alpha1", Kind: "Topology", Metadata: kai.Metadata{Name: "dc"}, Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "rack", Alias: "r"}}}}
	run8 := run7()
	run8.Run = "run8"
	other := podGroup(t, "0.17.0", run8)
	return []violationCase{
		{rule: kai.RuleVersion, name: "one PodGroup over several owners before 0.15", version: "0.14.7", mode: kai.GangPerRun, objects: gangOfTwo(t, "0.15.3"), object: gang, message: "needs KAI 0.15 or newer"},
		{rule: kai.RulePodGroup, name: "minSubGroup before 0.15", version: "0.14.7", objects: gangOfTwo(t, "0.15.3"), object: gang, field: "spec.minSubGroup", message: "upgrade to 0.15"},
		{rule: kai.RulePodGroup, name: "a grace period before 0.17", version: "0.16.8", objects: gangOfTwo(t, "0.17.0"), object: gang, field: "spec.stalenessGracePeriod", message: "upgrade to 0.17"},
		{rule: kai.RulePodGroup, name: "a leaf of 0 before 0.15", version: "0.14.7", objects: changed(t, "0.15.3", func(g *kai.PodGroup) { g.Spec.MinSubGroup, g.Spec.MinMember = nil, ptr.To[int32](7) }), object: gang, field: "spec.subGroups[2].minMember", message: "0: must be at least 1"},
		{rule: kai.RuleVersion, name: "a grace period of an owner before 0.17", version: "0.16.8", objects: []any{jobSet(annotated(kai.AnnotationStaleness, "15m"))}, object: "JobSet run7", field: staleness, message: "does not read it", warning: true},
		{rule: kai.RuleVersion, name: "Ray before its subgroups", version: "0.12.11", objects: []any{rayCluster("rl")}, object: "RayCluster rl", message: "without a head", warning: true},
		{rule: kai.RuleVersion, name: "the topology of a worker group before 0.14", version: "0.13.4", objects: []any{rayCluster("rl", topologyOfWorkers)}, object: "RayCluster rl", field: workerTemplate + ".metadata.annotations[kai.scheduler/topology]", message: "upgrade to 0.14"},
		{rule: kai.RuleVersion, name: "the topology of a worker group from 0.14", version: "0.14.0", objects: []any{rayCluster("rl", topologyOfWorkers)}},
		{rule: kai.RuleVersion, name: "the topology of a replicatedJob before 0.16", version: "0.15.3", objects: []any{jobSet(topologyOfTrainers)}, object: "JobSet run7", field: "spec.replicatedJobs[1].template.metadata.annotations[kai.scheduler/topology]", message: "upgrade to 0.16"},
		{rule: kai.RuleVersion, name: "an alias before 0.17", version: "0.16.8", objects: []any{aliased}, object: "Topology dc", field: "spec.levels[0].alias", message: "no aliases"},
		{rule: kai.RuleVersion, name: "an alias in 0.17", objects: []any{aliased}},

		{rule: kai.RuleGang, name: "a JobSet before 0.13", version: "0.12.23", mode: kai.GangPerCluster, objects: []any{jobSet()}, object: "JobSet run7", message: "starts 1 of its 6 pods without waiting for the others; upgrade KAI"},
		{rule: kai.RuleGang, name: "a JobSet on 0.15", version: "0.15.3", mode: kai.GangPerCluster, objects: []any{jobSet()}, object: "JobSet run7", message: `annotate it with kai.scheduler/batch-min-member: "6"`},
		{rule: kai.RuleGang, name: "a JobSet on 0.15 that is the whole run", version: "0.15.3", mode: kai.GangPerRun, objects: []any{jobSet()}, object: "JobSet run7", message: "annotate it"},
		{rule: kai.RuleGang, name: "a JobSet of which 0.17 needs a part", mode: kai.GangPerCluster, objects: []any{jobSet(templateMin("2"))}, object: "JobSet run7", message: "starts 4 of its 6 pods"},
		{rule: kai.RuleGang, name: "a batch Job", mode: kai.GangPerCluster, objects: []any{job("batch", 3)}, object: "Job batch", message: `kai.scheduler/batch-min-member: "3"`},
		{rule: kai.RuleGang, name: "a batch Job that is annotated", mode: kai.GangPerCluster, objects: []any{annotatedJob("3")}},
		{rule: kai.RuleGang, name: "a batch Job of one pod", mode: kai.GangPerCluster, objects: []any{job("driver", 1)}},
		{rule: kai.RuleGang, name: "an elastic RayCluster", mode: kai.GangPerCluster, objects: []any{rayCluster("rl", elastic)}, object: "RayCluster rl", message: "starts with 2 of its 3 pods", warning: true},
		{rule: kai.RuleGang, name: "a RayCluster that is to be none", mode: kai.GangNone, objects: []any{rayCluster("rl")}, object: "RayCluster rl", message: "starts 3 of its pods together all the same", warning: true},
		{rule: kai.RuleGang, name: "two RayClusters that are to be one, before 0.15", version: "0.14.7", mode: kai.GangPerRun, objects: []any{rayCluster("rl"), rayCluster("gym")}, object: "the run", message: "needs KAI 0.15 or newer, and the run has 2"},
		{rule: kai.RuleGang, name: "two RayClusters that are to be one, without a PodGroup", mode: kai.GangPerRun, objects: []any{rayCluster("rl"), rayCluster("gym")}, object: "RayCluster rl", message: "make them members"},
		{rule: kai.RuleGang, name: "a run whose members are in two PodGroups", mode: kai.GangPerRun, objects: append(gangOfTwo(t, "0.17.0", func(run *runObjects) {
			run.driver.Spec.Template.Annotations[kai.AnnotationPodGroup] = other.Metadata.Name
		}), other), object: "Job driver", message: "use one"},
		{rule: kai.RuleGang, name: "a run whose members are in one", mode: kai.GangPerRun, objects: gangOfTwo(t, "0.17.0")},

		{rule: kai.RuleMinMember, name: "pods where replicatedJobs are counted", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "6"))}, object: "JobSet run7", field: minMember, message: "counts replicatedJobs since KAI 0.16, of which there are 3", warning: true},
		{rule: kai.RuleMinMember, name: "more pods than there are", version: "0.15.3", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "7"))}, object: "JobSet run7", field: minMember, message: "there are only 6 pods"},
		{rule: kai.RuleMinMember, name: "more pods of a Job than there are", objects: []any{annotatedJob("4")}, object: "Job batch", field: minMember, message: "there are only 3 pods"},
		{rule: kai.RuleMinMember, name: "before it is read", version: "0.14.0", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "6"))}, object: "JobSet run7", field: minMember, message: "upgrade to 0.14.1", warning: true},
		{rule: kai.RuleMinMember, name: "before it is read of a Job", version: "0.14.0", objects: []any{annotatedJob("3")}, object: "Job batch", field: minMember, message: "does not read it", warning: true},
		{rule: kai.RuleMinMember, name: "no number", version: "0.15.3", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "all"))}, object: "JobSet run7", message: `"all" is not a number`},
		{rule: kai.RuleMinMember, name: "none", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "0"))}, object: "JobSet run7", message: "is 0 and must be at least 1"},
		{rule: kai.RuleMinMember, name: "none on 0.15", version: "0.15.3", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "-1"))}, object: "JobSet run7", message: "is -1 and must be at least 1"},
		{rule: kai.RuleMinMember, name: "none on 0.14, which ignores it", version: "0.14.7", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "0"))}},
		{rule: kai.RuleMinMember, name: "none of a Job", objects: []any{annotatedJob("0")}, object: "Job batch", message: "is 0 and must be at least 1"},
		{rule: kai.RuleMinMember, name: "none of a template", objects: []any{jobSet(templateMin("0"))}, object: "JobSet run7", message: `replicatedJob "rl-trainer": annotation`},
		{rule: kai.RuleMinMember, name: "no number in a template", objects: []any{jobSet(templateMin("x"))}, object: "JobSet run7", message: "not a number"},
		{rule: kai.RuleMinMember, name: "more than a Job of the template has", objects: []any{jobSet(templateMin("5"))}, object: "JobSet run7", field: "spec.replicatedJobs[1].template." + minMember, message: "each Job has only 4 pods"},
		{rule: kai.RuleMinMember, name: "a template before 0.16", version: "0.15.3", objects: []any{jobSet(templateMin("2"))}, object: "JobSet run7", field: "spec.replicatedJobs[1].template." + minMember, message: "does not read it here", warning: true},
		{rule: kai.RuleMinMember, name: "all pods", version: "0.15.3", objects: []any{jobSet(annotated(kai.AnnotationMinMember, "6"))}},
	}
}

func queueCases(t *testing.T) []violationCase {
	t.Helper()
	queues := func(quota, limit string, objects ...any) []any {
		built, err := kai.NewQueues(kai.QueueTree{
			Parent: "department", Leaf: "team",
			Quota: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quota)},
			Limit: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)},
		})
		require.NoError(t, err)
		return append([]any{built[0], built[1]}, objects...)
	}
	fixed := gangOfTwo(t, "0.17.0", func(run *runObjects) { run.group.Spec.Preemptibility = kai.NonPreemptible })
	topology, err := kai.NewTopology(parse(t, "0.17.0"), "dc", []kai.TopologyLevel{{NodeLabel: "example.com/zone"}, {NodeLabel: "example.com/rack", Alias: "rack"}})
	require.NoError(t, err)
	constrained := func(c kai.TopologyConstraint) []any {
		return append(changed(t, "0.17.0", func(g *kai.PodGroup) { g.Spec.TopologyConstraint = &c }), topology)
	}
	orphan := &kai.Queue{APIVersion: "scheduling.run.ai/v2", Kind: "Queue", Metadata: kai.Metadata{Name: "team"}}
	levelless := annotated(kai.AnnotationTopology, "dc")
	topologyless := annotated(kai.AnnotationTopologyRequired, "example.com/rack")
	return []violationCase{
		{rule: "H7", name: "a run above the limit", objects: queues("4", "5", gangOfTwo(t, "0.17.0")...), object: "Queue team", field: "spec.resources.cpu.limit", message: "raise it"},
		{rule: "H7", name: "a run within the limit", objects: queues("4", "7", gangOfTwo(t, "0.17.0")...)},
		{rule: "H7", name: "two gangs above the limit", mode: kai.GangPerCluster, objects: queues("4", "5", rayCluster("rl"), rayCluster("gym")), object: "Queue team", field: "spec.resources.cpu.limit", message: "5000 millicores: the run needs 6000"},
		{rule: "H7", name: "a non-preemptible gang above the quota", objects: queues("5", "8", fixed...), object: "Queue department", field: "spec.resources.cpu.quota", message: "need 6000 within it"},
		{rule: "H7", name: "a non-preemptible gang within the quota", objects: queues("6", "8", fixed...)},
		{rule: "H7", name: "a gang whose priority makes it non-preemptible", objects: queues("2", "8", rayCluster("rl", func(c *rayv1.RayCluster) { c.Labels[kai.LabelRayPriorityClass] = "build" })), object: "Queue department", field: "spec.resources.cpu.quota", message: "need 3000"},
		{rule: kai.RuleQueue, name: "a leaf without a parent on 0.12", version: "0.12.23", objects: []any{orphan}, object: "Queue team", field: "spec.parentQueue", message: "add a parent"},
		{rule: kai.RuleQueue, name: "a leaf without limits", objects: []any{orphan}, object: "Queue team", field: "spec.resources.cpu.limit", message: "write -1 for no limit"},
		{rule: kai.RuleQueue, name: "pods in a parent", objects: queues("4", "8", rayCluster("rl", func(c *rayv1.RayCluster) { c.Labels[kai.LabelQueue] = "department" })), object: "RayCluster rl", field: "spec.queue", message: "only leaves take pods"},
		{rule: kai.RuleQueue, name: "pods in a leaf", objects: queues("4", "8", rayCluster("rl"))},
		{rule: kai.RuleTopology, name: "a topology without a level", objects: []any{jobSet(levelless)}, object: "JobSet run7", field: "metadata.annotations[kai.scheduler/topology]", message: "without a level"},
		{rule: kai.RuleTopology, name: "a level without a topology", objects: []any{jobSet(topologyless)}, object: "JobSet run7", field: "metadata.annotations[kai.scheduler/topology]", message: "leaves the pods ungrouped"},
		{rule: kai.RuleTopology, name: "a level that is not there", objects: constrained(kai.TopologyConstraint{Topology: "dc", Required: "example.com/row"}), object: gang, field: "spec.topologyConstraint", message: "[example.com/zone example.com/rack]"},
		{rule: kai.RuleTopology, name: "a preferred level that is coarser", objects: constrained(kai.TopologyConstraint{Topology: "dc", Required: "rack", Preferred: "example.com/zone"}), object: gang, field: "spec.topologyConstraint", message: "exchange them"},
		{rule: kai.RuleTopology, name: "levels that are there, one by its alias", objects: constrained(kai.TopologyConstraint{Topology: "dc", Required: "example.com/zone", Preferred: "rack"})},
	}
}

func TestStalenessIsWrittenAsADuration(t *testing.T) {
	t.Parallel()
	gang := run7()
	gang.Staleness = ptr.To(-time.Second)
	group := podGroup(t, "0.17.0", gang)
	require.Equal(t, "-1s", group.Spec.StalenessGracePeriod)
}
