package kai

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// PodGroup is a gang: none of its required pods starts before all of them can.
type PodGroup struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   Metadata     `json:"metadata"`
	Spec       PodGroupSpec `json:"spec"`
}

// PodGroupSpec is what the scheduler reads. The fields that people should not set are here to be found by Check.
type PodGroupSpec struct {
	Queue                string              `json:"queue,omitempty"`
	PriorityClassName    string              `json:"priorityClassName,omitempty"`
	Preemptibility       Preemptibility      `json:"preemptibility,omitempty"`
	MinMember            *int32              `json:"minMember,omitempty"`
	MinSubGroup          *int32              `json:"minSubGroup,omitempty"`
	StalenessGracePeriod string              `json:"stalenessGracePeriod,omitempty"`
	PreemptionDelay      string              `json:"preemptionDelay,omitempty"`
	MarkUnschedulable    *bool               `json:"markUnschedulable,omitempty"`
	SchedulingBackoff    *int32              `json:"schedulingBackoff,omitempty"`
	TopologyConstraint   *TopologyConstraint `json:"topologyConstraint,omitempty"`
	SubGroups            []SubGroupSpec      `json:"subGroups,omitempty"`
}

// SubGroupSpec is a leaf, which pods name in their label, or the parent of others.
type SubGroupSpec struct {
	Name               string              `json:"name"`
	Parent             string              `json:"parent,omitempty"`
	MinMember          *int32              `json:"minMember,omitempty"`
	MinSubGroup        *int32              `json:"minSubGroup,omitempty"`
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
}

// Preemptibility of a gang; empty leaves it to the priority: 100 and above is non-preemptible.
type Preemptibility string

const (
	Preemptible Preemptibility = "preemptible"
	// NonPreemptible gangs must fit into the quota of their queue and of all its ancestors.
	NonPreemptible Preemptibility = "non-preemptible"
)

// RunGang is one gang over all clusters of a run.
type RunGang struct {
	Run, Namespace string
	Labels         map[string]string
	Queue          string
	PriorityClass  string
	Preemptibility Preemptibility
	// Staleness is how long the gang may miss pods before KAI deletes all of it, from 0.17 on; negative is for ever. nil is the
	// scheduler's flag, 60 s by default: a pod lost with its node for longer takes the whole run down.
	Staleness *time.Duration
	Topology  *TopologyConstraint // of all pods together
	Clusters  []GangCluster
}

// GangCluster is one cluster of the gang. Its topology, where it has one, makes it a parent subgroup; otherwise its groups stand
// side by side with those of the others, which every scheduler version treats alike.
type GangCluster struct {
	Name     string
	Topology *TopologyConstraint
	Groups   []GangGroup
}

// GangGroup is the pods of one template.
type GangGroup struct {
	Name string
	// Min pods must be placed before anything starts. 0 are placed when the rest is, and may end before the rest does: right for a
	// driver that is retried, and for groups that an autoscaler takes down to nothing.
	Min      int32
	Topology *TopologyConstraint
}

// ErrNoRunGang: before 0.15 the podgrouper takes every owned pod away from a PodGroup that it did not make itself.
var ErrNoRunGang = errors.New("one gang over several owners needs KAI 0.15 or newer")

// NewPodGroup builds the PodGroup of a run, or names everything that KAI would refuse. It has no owner: it is deleted by name.
func NewPodGroup(v Version, gang RunGang) (*PodGroup, error) {
	if !v.Features().SkipPodGrouper {
		return nil, fmt.Errorf("PodGroup of run %s on KAI %s: %w; upgrade, or use gang: cluster", gang.Run, v, ErrNoRunGang)
	}
	group := &PodGroup{APIVersion: podGroupVersion, Kind: kindPodGroup, Metadata: gang.metadata(), Spec: gang.spec()}
	var errs []error
	if group.Spec.Queue == "" {
		errs = append(errs, errors.New("spec.queue: a gang needs a leaf queue; name one"))
	}
	for _, problem := range group.problems(v) {
		errs = append(errs, fmt.Errorf("%s: %s", problem.field, problem.message))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("PodGroup of run %s: %w", gang.Run, err)
	}
	return group, nil
}

func (g RunGang) metadata() Metadata {
	labels := map[string]string{LabelQueue: g.Queue}
	for key, value := range g.Labels {
		labels[key] = value
	}
	return Metadata{Name: PodGroupName(g.Namespace, g.Run), Namespace: g.Namespace, Labels: labels}
}

func (g RunGang) spec() PodGroupSpec {
	spec := PodGroupSpec{
		Queue:              g.Queue,
		PriorityClassName:  g.PriorityClass,
		Preemptibility:     g.Preemptibility,
		TopologyConstraint: g.Topology,
	}
	if g.Staleness != nil {
		spec.StalenessGracePeriod = g.Staleness.String()
	}
	children := int32(0)
	for _, cluster := range g.Clusters {
		subGroups := cluster.subGroups()
		spec.SubGroups = append(spec.SubGroups, subGroups...)
		if cluster.Topology != nil {
			children++
			continue
		}
		children += int32(len(subGroups))
	}
	// All of them: KAI picks a smaller number by name and never tries others (kai#2120).
	spec.MinSubGroup = &children
	return spec
}

func (c GangCluster) subGroups() []SubGroupSpec {
	var out []SubGroupSpec
	parent := ""
	if c.Topology != nil {
		parent = c.Name
		children := int32(len(c.Groups))
		out = append(out, SubGroupSpec{Name: parent, MinSubGroup: &children, TopologyConstraint: c.Topology})
	}
	for _, group := range c.Groups {
		out = append(out, SubGroupSpec{
			Name:               SubGroupName(c.Name, group.Name),
			Parent:             parent,
			MinMember:          &group.Min,
			TopologyConstraint: group.Topology,
		})
	}
	return out
}

// problem is what is wrong with a field, without the object that has it.
type problem struct{ field, message string }

func (p *PodGroup) problems(v Version) []problem {
	features := v.Features()
	var out []problem
	if max := validation.DNS1123SubdomainMaxLength; len(p.Metadata.Name) > max {
		out = append(out, problem{"metadata.name", fmt.Sprintf("%d characters: at most %d", len(p.Metadata.Name), max)})
	}
	out = append(out, p.Spec.tooNew(v, features)...)
	out = append(out, p.Spec.minimum()...)
	switch p.Spec.Preemptibility {
	case "", Preemptible, NonPreemptible:
	default:
		out = append(out, problem{"spec.preemptibility", fmt.Sprintf("%q: must be %q or %q", p.Spec.Preemptibility, Preemptible, NonPreemptible)})
	}
	if p.Spec.SchedulingBackoff != nil {
		out = append(out, problem{"spec.schedulingBackoff", "with 1 a gang that did not fit once is never tried again; leave it out"})
	}
	out = append(out, checkDuration("spec.stalenessGracePeriod", p.Spec.StalenessGracePeriod)...)
	out = append(out, checkDuration("spec.preemptionDelay", p.Spec.PreemptionDelay)...)
	out = append(out, p.Spec.TopologyConstraint.problems("spec.topologyConstraint")...)
	return append(out, subGroupProblems(features, p.Spec.SubGroups)...)
}

// tooNew names fields that the version's CRD does not have: strict validation refuses them, otherwise they are lost without a word.
func (s PodGroupSpec) tooNew(v Version, features Features) []problem {
	var out []problem
	for _, field := range []struct {
		name  string
		set   bool
		known bool
		since string
	}{
		{"spec.minSubGroup", s.MinSubGroup != nil, features.MinSubGroup, "0.15"},
		{"spec.stalenessGracePeriod", s.StalenessGracePeriod != "", features.StalenessGracePeriod, "0.17"},
		{"spec.preemptionDelay", s.PreemptionDelay != "", features.StalenessGracePeriod, "0.17"},
	} {
		if field.set && !field.known {
			out = append(out, problem{field.name, fmt.Sprintf("KAI %s does not have it; upgrade to %s or leave it out", v, field.since)})
		}
	}
	return out
}

func (s PodGroupSpec) minimum() []problem {
	switch {
	case s.MinMember != nil && s.MinSubGroup != nil:
		return []problem{{"spec.minMember", "excludes minSubGroup, and counts for nothing where there are subgroups; leave it out"}}
	case s.MinMember != nil && *s.MinMember < 1:
		return []problem{{"spec.minMember", fmt.Sprintf("%d: must be at least 1", *s.MinMember)}}
	case s.MinSubGroup != nil && *s.MinSubGroup < 1:
		return []problem{{"spec.minSubGroup", fmt.Sprintf("%d: must be at least 1; a gang needs at least one group", *s.MinSubGroup)}}
	}
	return nil
}

func (c *TopologyConstraint) problems(at string) []problem {
	switch {
	case c == nil:
		return nil
	case c.Topology == "":
		return []problem{{at + ".topology", "name the Topology that has the levels"}}
	case c.Required == "" && c.Preferred == "":
		return []problem{{at, fmt.Sprintf("topology %q without a level: the gang would never be scheduled; give requiredTopologyLevel or "+
			"preferredTopologyLevel, the label of one of its levels", c.Topology)}}
	}
	return nil
}

func checkDuration(at, text string) []problem {
	if text == "" {
		return nil
	}
	if _, err := time.ParseDuration(text); err != nil {
		return []problem{{at, fmt.Sprintf("%q: write a duration such as 15m, or -1s for never", text)}}
	}
	return nil
}
