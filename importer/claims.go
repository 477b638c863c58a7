package importer

import (
	"slices"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// claimUse is a claim that the Ray container of a part has.
type claimUse struct {
	name, template string
	source         node
}

// readClaims takes claims that are made of a template. Others are kept.
func (p *part) readClaims(spec, container node) {
	if p.isDriver() {
		return
	}
	claims := container.at("resources", "claims")
	for _, claim := range claims.items() {
		name, _ := claim.at("name").value.(string)
		source := spec.at("resourceClaims").named(name)
		template, _ := source.at("resourceClaimTemplateName").value.(string)
		if template == "" || len(source.keys()) != 2 {
			continue
		}
		claim.at("name").take()
		claim.drop("a pod gets all requests of its claims")
		source.take()
		p.claims = append(p.claims, claimUse{name, template, source})
	}
	p.keptClaims = left(claims)
	p.overlay.add("resourceClaims", left(spec.at("resourceClaims"))...)
}

// left takes the items of a list that are unread.
func left(list node) []any {
	var out []any
	for _, item := range list.items() {
		if !item.isRead() {
			out = append(out, item.unread(true))
		}
	}
	return out
}

// source is where the devices of a claim come from.
type source struct {
	template string
	claim    v1alpha1.Claim
	clusters []string
}

// settleClaims makes one claim of the run for each template that its pods refer to.
func (m *maker) settleClaims() {
	var sources []*source
	names := map[string]string{} // template -> claim of the run
	for _, p := range m.parts {
		for _, use := range p.claims {
			at := slices.IndexFunc(sources, func(s *source) bool { return s.template == use.template })
			if at < 0 {
				at = len(sources)
				sources = append(sources, &source{template: use.template, claim: m.claim(use.template)})
				names[use.template] = unique(names, use.name, p.cluster+"-"+use.name)
				sources[at].claim.Name = names[use.template]
			}
			if !slices.Contains(sources[at].clusters, p.cluster) {
				sources[at].clusters = append(sources[at].clusters, p.cluster)
			}
			p.group.Claims = append(p.group.Claims, names[use.template])
		}
		p.keepClaims()
	}
	for _, s := range sources {
		s.claim.Shared = len(s.clusters) > 1 && s.claim.ResourceClaimTemplate == ""
		m.run.Spec.Claims = append(m.run.Spec.Claims, s.claim)
	}
}

// keepClaims merges those that the Run has no field for. A list of claims is merged as a whole, so the others are in it too.
func (p *part) keepClaims() {
	if len(p.keptClaims) == 0 {
		return
	}
	var all []any
	for _, name := range p.group.Claims {
		all = append(all, map[string]any{"name": name})
	}
	p.overlay.addToContainer(p.container(), map[string]any{"resources": map[string]any{"claims": append(all, p.keptClaims...)}})
}

// unique is the first name that is not taken.
func unique(taken map[string]string, name, otherwise string) string {
	for _, other := range taken {
		if other == name {
			return otherwise
		}
	}
	return name
}

// claim says what a template holds: from an object of the files, from nrl-k8s, or not at all.
func (m *maker) claim(template string) v1alpha1.Claim {
	if made, is := m.made[template]; is {
		return made
	}
	for _, o := range m.of("ComputeDomain") {
		if o.node().at("spec", "channel", "resourceClaimTemplate", "name").value == template {
			return computeDomain(o)
		}
	}
	for _, o := range m.of("ResourceClaimTemplate") {
		if o.name == template {
			if claim, is := devices(o); is {
				return claim
			}
		}
	}
	return v1alpha1.Claim{ResourceClaimTemplate: template}
}

func computeDomain(o *object) v1alpha1.Claim {
	o.used = true
	root := o.node()
	root.at("kind").take()
	root.at("spec", "channel", "resourceClaimTemplate", "name").drop(ownName)
	root.at("metadata").drop(ownName)
	return v1alpha1.Claim{ComputeDomain: &v1alpha1.ComputeDomain{
		NumNodes:   root.at("spec", "numNodes").number(0),
		APIVersion: unless(root.at("apiVersion").text(), v1alpha1.DefaultComputeDomainAPI),
	}}
}

// devices are those of a template with one request for a number of devices of a class.
func devices(o *object) (v1alpha1.Claim, bool) {
	root := o.node()
	requests := root.at("spec", "spec", "devices", "requests").items()
	if len(requests) != 1 || len(root.at("spec", "spec", "devices").keys()) != 1 || len(root.at("spec", "spec").keys()) != 1 {
		return v1alpha1.Claim{}, false
	}
	request := requests[0]
	if exactly := request.at("exactly"); exactly.there {
		request = exactly
	}
	for _, key := range request.keys() {
		if key != "deviceClassName" && key != "count" && key != "name" && key != "allocationMode" {
			return v1alpha1.Claim{}, false
		}
	}
	if mode := request.at("allocationMode").value; mode != nil && mode != "ExactCount" {
		return v1alpha1.Claim{}, false
	}
	o.used = true
	root.at("kind").take()
	root.at("metadata").drop(ownName)
	requests[0].at("name").drop(ownName)
	request.at("allocationMode").take()
	return v1alpha1.Claim{Devices: &v1alpha1.DeviceClaim{
		DeviceClass: request.at("deviceClassName").text(),
		Count:       int64(request.at("count").number(1)),
		APIVersion:  unless(root.at("apiVersion").text(), v1alpha1.DefaultResourceAPI),
	}}, true
}

// unless leaves out what is the default.
func unless(value, usual string) string {
	if value == usual {
		return ""
	}
	return value
}
