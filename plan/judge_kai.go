package plan

import (
	"github.com/tandem-rl/tandem/manifests/kai"
)

// judgeVersion compares what the file says of KAI's version with what the cluster's PodGroups can say. It tells versions apart that differ
// in these fields, not all of them.
func (p *Plan) judgeVersion(s *Sight) {
	about := "KAI " + p.run.Spec.Scheduling.KAIVersion
	if s.PodGroupFields.Err != nil {
		p.cannotTell(about, s.PodGroupFields.Err)
		return
	}
	version, err := kai.Parse(p.run.Spec.Scheduling.KAIVersion)
	if err != nil {
		p.cannotTell(about, err)
		return
	}
	features := version.Features()
	for _, mark := range []struct {
		field string
		has   bool
		since string
	}{
		{"minSubGroup", features.MinSubGroup, "0.15"},
		{"stalenessGracePeriod", features.StalenessGracePeriod, "0.17"},
	} {
		switch there := s.PodGroupFields.Value[mark.field]; {
		case mark.has && !there:
			p.find(Refused, about, "the cluster's KAI is older than %s: its PodGroups have no %s; write its version in spec.scheduling.kaiVersion", mark.since, mark.field)
			return
		case !mark.has && there:
			p.find(Refused, about, "the cluster's KAI is %s or newer: its PodGroups have %s; write its version in spec.scheduling.kaiVersion", mark.since, mark.field)
			return
		}
	}
	p.find(OK, about, "the cluster's PodGroups have the fields of that version")
}
