package importer

import (
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// assemble puts the clusters into the Run. What all groups of a cluster have goes to the cluster, and what all clusters have to the run.
func (m *maker) assemble() {
	for _, p := range m.parts {
		template := p.overlay.template()
		if p.isDriver() {
			m.run.Spec.Driver.PodTemplate = template
			continue
		}
		p.group.PodTemplate = template
	}
	var clusters []*v1alpha1.PodSettings
	for _, d := range m.clusters {
		groups := []*v1alpha1.PodSettings{&d.Head.PodSettings}
		for _, w := range d.workers {
			groups = append(groups, &w.PodSettings)
		}
		hoist(&d.PodSettings, groups)
		clusters = append(clusters, &d.PodSettings)
	}
	hoist(&m.run.Spec.PodSettings, clusters)
	for _, d := range m.clusters {
		for _, w := range d.workers {
			d.Workers = append(d.Workers, *w)
		}
		m.run.Spec.Clusters = append(m.run.Spec.Clusters, d.Cluster)
	}
}

// template is nil where nothing is kept.
func (o overlay) template() *v1alpha1.PodTemplate {
	if len(o) == 0 {
		return nil
	}
	patch, err := json.Marshal(o)
	if err != nil {
		return nil // it was decoded from YAML
	}
	return v1alpha1.NewPodTemplate(patch)
}

// hoist moves settings that are the same everywhere below.
func hoist(to *v1alpha1.PodSettings, from []*v1alpha1.PodSettings) {
	move(from, func(s *v1alpha1.PodSettings) *[]corev1.EnvVar { return &s.Env }, &to.Env)
	move(from, func(s *v1alpha1.PodSettings) *[]corev1.EnvFromSource { return &s.EnvFrom }, &to.EnvFrom)
	move(from, func(s *v1alpha1.PodSettings) *[]v1alpha1.Volume { return &s.Volumes }, &to.Volumes)
	move(from, func(s *v1alpha1.PodSettings) *map[string]string { return &s.NodeSelector }, &to.NodeSelector)
	move(from, func(s *v1alpha1.PodSettings) *[]corev1.Toleration { return &s.Tolerations }, &to.Tolerations)
	move(from, func(s *v1alpha1.PodSettings) **v1alpha1.PodTemplate { return &s.PodTemplate }, &to.PodTemplate)
}

func move[T any](from []*v1alpha1.PodSettings, field func(*v1alpha1.PodSettings) *T, to *T) {
	for _, settings := range from[1:] {
		if !reflect.DeepEqual(*field(settings), *field(from[0])) {
			return
		}
	}
	*to = *field(from[0])
	for _, settings := range from {
		*field(settings) = *new(T)
	}
}
