package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of a Run file.
const (
	DefaultSidecarImage       = "tandem.dev/sidecars:dev"
	DefaultRayVersion         = "2.52.0"
	DefaultStartupGrace       = 20 * time.Minute
	DefaultUnreadyGrace       = 2 * time.Minute
	DefaultGCSPort      int32 = 6379
	DefaultDashPort     int32 = 8265
	DefaultClientPort   int32 = 10001
)

// SetDefaults fills what the file left out. It never changes what the file says.
func (r *Run) SetDefaults() {
	spec := &r.Spec
	setDefault(&spec.SidecarImage, DefaultSidecarImage)
	setDefault(&spec.RayVersion, DefaultRayVersion)
	setDefault(&spec.Scheduling.Scheduler, SchedulerDefault)
	setDefault(&spec.Failure.OnPeerFailure, PeerFailureCascade)
	setDefault(&spec.Failure.StartupGrace, metav1.Duration{Duration: DefaultStartupGrace})
	setDefault(&spec.Failure.UnreadyGrace, metav1.Duration{Duration: DefaultUnreadyGrace})
	for i := range spec.Clusters {
		spec.Clusters[i].setDefaults()
	}
}

func (c *Cluster) setDefaults() {
	setDefault(&c.Ports.GCS, DefaultGCSPort)
	setDefault(&c.Ports.Dashboard, DefaultDashPort)
	setDefault(&c.Ports.Client, DefaultClientPort)
	for i := range c.Workers {
		if c.Workers[i].Replicas == nil {
			c.Workers[i].Replicas = new(int32(1))
		}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
