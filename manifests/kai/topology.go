package kai

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Topology tells KAI which node labels mean which domain. It belongs to the cluster, not to a namespace.
type Topology struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   Metadata     `json:"metadata"`
	Spec       TopologySpec `json:"spec"`
}

// TopologySpec has the levels from coarse to fine. They cannot be changed later. A node counts only if it has the labels of all of them.
type TopologySpec struct {
	Levels []TopologyLevel `json:"levels"`
}

// TopologyLevel is a node label, with a name for people from 0.17 on.
type TopologyLevel struct {
	NodeLabel string `json:"nodeLabel"`
	Alias     string `json:"alias,omitempty"`
}

// TopologyConstraint keeps pods together: in one domain of the required level, and where possible in one of the preferred level.
type TopologyConstraint struct {
	Topology  string `json:"topology,omitempty"`
	Required  string `json:"requiredTopologyLevel,omitempty"`
	Preferred string `json:"preferredTopologyLevel,omitempty"`
}

const maxTopologyLevels = 16 // of the CRD

// NewTopology builds a Topology, or names everything that KAI would refuse.
func NewTopology(v Version, name string, levels []TopologyLevel) (*Topology, error) {
	errs := []error{checkName("topology", name, validation.IsDNS1123Subdomain)}
	if n := len(levels); n == 0 || n > maxTopologyLevels {
		errs = append(errs, fmt.Errorf("%d levels: must be 1 to %d, from coarse to fine", n, maxTopologyLevels))
	}
	seen := map[string]bool{}
	for i, level := range levels {
		errs = append(errs, level.problems(v, i, i == len(levels)-1, seen)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("topology %q: %w", name, err)
	}
	return &Topology{APIVersion: topologyVersion, Kind: kindTopology, Metadata: Metadata{Name: name}, Spec: TopologySpec{Levels: levels}}, nil
}

func (l TopologyLevel) problems(v Version, i int, last bool, seen map[string]bool) []error {
	at := fmt.Sprintf("levels[%d]", i)
	errs := []error{checkName(at+".nodeLabel", l.NodeLabel, validation.IsQualifiedName)}
	if l.NodeLabel == corev1.LabelHostname && !last {
		errs = append(errs, fmt.Errorf("%s.nodeLabel %q: only the finest level can be the host; move it to the end", at, l.NodeLabel))
	}
	names := []string{l.NodeLabel}
	if l.Alias != "" {
		errs = append(errs, checkName(at+".alias", l.Alias, validation.IsQualifiedName))
		names = append(names, l.Alias)
		if !v.Features().TopologyAlias {
			errs = append(errs, fmt.Errorf("%s.alias %q: KAI %s has no aliases; upgrade to 0.17 or leave it out", at, l.Alias, v))
		}
	}
	for _, name := range names {
		if seen[name] {
			errs = append(errs, fmt.Errorf("%s %q: names another level already; each needs a label and an alias of its own", at, name))
		}
		seen[name] = true
	}
	return errs
}

// levelIndex is the place of a level by its label or alias; -1 where there is none.
func (t *Topology) levelIndex(name string) int {
	for i, level := range t.Spec.Levels {
		if name == level.NodeLabel || (level.Alias != "" && name == level.Alias) {
			return i
		}
	}
	return -1
}

func checkName(what, name string, check func(string) []string) error {
	for _, message := range check(name) {
		return fmt.Errorf("%s %q: %s", what, name, message)
	}
	return nil
}
