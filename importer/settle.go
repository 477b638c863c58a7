package importer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// placeholderImage stands where no file names an image.
const placeholderImage = "replace-me/trainer:tag"

// settle finds the value that most pods have; other is called for the pods that have another.
func (m *maker) settle(of func(*part) place, other func(*part, place)) string {
	best, votes := "", map[string]int{}
	for _, p := range m.parts {
		value := of(p).value
		if value == "" {
			continue
		}
		votes[value]++
		if votes[value] > votes[best] {
			best = value
		}
	}
	for _, p := range m.parts {
		if at := of(p); at.value != "" && at.value != best {
			other(p, at)
		}
	}
	return best
}

// settlePods chooses the image of the run and the like.
func (m *maker) settlePods() {
	spec := &m.run.Spec
	spec.Image = m.settle(func(p *part) place { return p.image }, setImage)
	if spec.Image == "" {
		spec.Image = placeholderImage
		m.need("spec.image", "no file names the image with Ray and the training code")
	}
	spec.ImagePullPolicy = corev1.PullPolicy(m.settle(func(p *part) place { return p.pullPolicy }, func(p *part, policy place) {
		p.overlay.addToContainer(p.container(), map[string]any{"imagePullPolicy": policy.value})
	}))
	class := m.settle(func(p *part) place { return p.priority }, func(_ *part, other place) {
		other.node.dropPart(other.value, "the pods of a run have one priority class (scheduling.priorityClass)")
	})
	spec.Scheduling.PriorityClass = either(class, spec.Scheduling.PriorityClass)
	for _, p := range m.parts {
		for _, secret := range p.pullSecrets {
			if !slices.Contains(spec.ImagePullSecrets, secret) {
				spec.ImagePullSecrets = append(spec.ImagePullSecrets, secret)
			}
		}
	}
}

// setImage is for pods with another image than the run's.
func setImage(p *part, image place) {
	if p.isDriver() {
		p.overlay.addToContainer(p.container(), map[string]any{"image": image.value})
		return
	}
	p.group.Image = image.value
}
