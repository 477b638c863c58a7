package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// readGangs says what the scheduler will start together.
func (p *Plan) readGangs() error {
	switch p.Scheduler {
	case v1alpha1.SchedulerKAI:
		return p.readKAI()
	case v1alpha1.SchedulerKueue:
		p.Gangs = p.admitted()
	case v1alpha1.SchedulerWorkload:
		p.Gangs = p.workloadGangs()
	}
	return nil
}

// readKAI also checks the objects by KAI's rules.
func (p *Plan) readKAI() error {
	version, err := kai.Parse(p.run.Spec.Scheduling.KAIVersion)
	if err != nil {
		return err
	}
	objects, err := kai.Read(anys(p.objects)...)
	if err != nil {
		return fmt.Errorf("reading the run's objects: %w", err)
	}
	for _, gang := range kai.Gangs(version, objects) {
		p.Gangs = append(p.Gangs, kaiGang(gang))
	}
	for _, caveat := range version.Caveats() {
		p.find(Warning, "KAI "+version.String(), "%s; write the full version in spec.scheduling.kaiVersion", caveat)
	}
	scheduling, err := schedule.Of(p.run)
	if err != nil {
		return err
	}
	violations, err := scheduling.Violations(p.objects)
	p.addViolations(violations)
	return err
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func (p *Plan) addViolations(violations []kai.Violation) {
	for _, violation := range violations {
		state := Refused
		if violation.Warning {
			state = Warning
		}
		p.Findings = append(p.Findings, Finding{state, "KAI rule " + string(violation.Rule), aboutViolation(violation)})
	}
}

func aboutViolation(v kai.Violation) string {
	if v.Field == "" {
		return fmt.Sprintf("%s: %s", v.Object, v.Message)
	}
	return fmt.Sprintf("%s: %s: %s", v.Object, v.Field, v.Message)
}

func kaiGang(from kai.Gang) Gang {
	gang := Gang{Name: "PodGroup " + from.Name, Min: from.Min, Pods: from.Pods, Broken: from.Broken}
	if from.Owner != "" {
		gang.Name += " of " + from.Owner
	}
	if from.Count > 1 {
		gang.Count = from.Count
	}
	for _, sub := range from.SubGroups {
		gang.Parts = append(gang.Parts, Part{sub.Name, sub.Parent, cmp.Or(sub.Min, sub.MinSubGroup), sub.Pods, levelsOf(sub.Topology)})
	}
	return gang
}

func levelsOf(c *kai.TopologyConstraint) string {
	switch {
	case c == nil:
		return ""
	case c.Required != "":
		return "within one " + c.Required
	default:
		return "if possible within one " + c.Preferred
	}
}

// admitted are the objects that Kueue lets in one by one. It looks at quota; whether the pods then find nodes is for the scheduler.
func (p *Plan) admitted() []Gang {
	var out []Gang
	for _, c := range p.crews {
		name := "Kueue Workload of " + c.owner
		i := slices.IndexFunc(out, func(g Gang) bool { return g.Name == name })
		if i < 0 {
			i, out = len(out), append(out, Gang{Name: name})
		}
		out[i].Pods += c.pods
		out[i].Min += c.pods
	}
	return out
}

// workloadGangs are the groups of Kubernetes' own Workload object.
func (p *Plan) workloadGangs() []Gang {
	var out []Gang
	for _, object := range p.objects {
		if object.GetKind() != "Workload" {
			continue
		}
		// What is not there is read as empty: the server checks the object.
		groups, _, _ := unstructured.NestedSlice(object.Object, "spec", "podGroups")
		for _, group := range groups {
			fields, isMap := group.(map[string]any)
			if !isMap {
				continue
			}
			name, _, _ := unstructured.NestedString(fields, "name")
			least, _, _ := unstructured.NestedInt64(fields, "policy", "gang", "minCount")
			out = append(out, Gang{
				Name: fmt.Sprintf("Workload %s, pod group %s", object.GetName(), name), Min: int32(least), Pods: p.podsOfWorkload(object.GetName(), name),
			})
		}
	}
	return out
}

// podsOfWorkload counts the pods that say they belong to a group of a Workload.
func (p *Plan) podsOfWorkload(workload, group string) int32 {
	pods := int32(0)
	for _, c := range p.crews {
		if ref := c.template.Spec.WorkloadRef; ref != nil && ref.Name == workload && ref.PodGroup == group {
			pods += c.pods
		}
	}
	return pods
}
