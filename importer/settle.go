package importer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// placeholderImage stands where no file names an image.
const placeholderImage = "replace-me/trainer:tag"

// settle finds the value that most pods have and that is fit for the whole run; other is called with what the others have.
func (m *maker) settle(of func(*part) place, other func(*part, any), fits func(string) bool) string {
	best, votes := "", map[string]int{}
	for _, p := range m.parts {
		value := of(p).value
		if value == "" || !fits(value) {
			continue
		}
		votes[value]++
		if votes[value] > votes[best] {
			best = value
		}
	}
	for _, p := range m.parts {
		if value := of(p).value; value != "" && value != best {
			other(p, value)
		}
	}
	return best
}

// all fits any value.
func all(string) bool { return true }

// settlePods chooses the image of the run and the like.
func (m *maker) settlePods() {
	spec := &m.run.Spec
	spec.Image = m.settle(func(p *part) place { return p.image }, func(p *part, value any) {
		if p.isDriver() {
			p.overlay.addToContainer(p.container(), map[string]any{"image": value})
			return
		}
		p.group.Image, _ = value.(string)
	}, all)
	if spec.Image == "" {
		spec.Image = placeholderImage
		m.need("spec.image", "no file names the image with Ray and the training code")
	}
	spec.ImagePullPolicy = corev1.PullPolicy(m.settle(func(p *part) place { return p.pullPolicy }, func(p *part, value any) {
		p.overlay.addToContainer(p.container(), map[string]any{"imagePullPolicy": value})
	}, all))
	class := m.settle(func(p *part) place { return p.priority }, func(p *part, value any) {
		p.overlay.set(value, "spec", "priorityClassName")
	}, func(string) bool { return m.allHavePriority() })
	if class != "" {
		spec.Scheduling.PriorityClass = class
	}
	for _, p := range m.parts {
		for _, secret := range p.pullSecrets {
			if !slices.Contains(spec.ImagePullSecrets, secret) {
				spec.ImagePullSecrets = append(spec.ImagePullSecrets, secret)
			}
		}
	}
}

// allHavePriority: a class of the run is that of all its pods.
func (m *maker) allHavePriority() bool {
	return !slices.ContainsFunc(m.parts, func(p *part) bool { return p.priority.value == "" })
}
