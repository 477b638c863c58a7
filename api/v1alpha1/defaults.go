package v1alpha1

import (
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of a Run file.
const (
	DefaultSidecarImage           = "tandem.dev/sidecars:dev"
	DefaultRayVersion             = "2.52.0"
	DefaultKAIVersion             = "0.17"
	DefaultStartupGrace           = 20 * time.Minute
	DefaultUnreadyGrace           = 2 * time.Minute
	DefaultComputeDomainAPI       = "resource.nvidia.com/v1beta1"
	DefaultResourceAPI            = "resource.k8s.io/v1"
	DefaultGymHeadPath            = "/global_config_dict_yaml"
	DefaultGCSPort          int32 = 6379
	DefaultDashPort         int32 = 8265
	DefaultClientPort       int32 = 10001
)

// SetDefaults fills what the file left out. It never changes what the file says.
func (r *Run) SetDefaults() {
	spec := &r.Spec
	setDefault(&spec.SidecarImage, DefaultSidecarImage)
	setDefault(&spec.RayVersion, DefaultRayVersion)
	setDefault(&spec.Failure.OnPeerFailure, PeerFailureCascade)
	setDefault(&spec.Failure.OnSuspend, SuspendWait)
	setDefault(&spec.Failure.StartupGrace, metav1.Duration{Duration: DefaultStartupGrace})
	setDefault(&spec.Failure.UnreadyGrace, metav1.Duration{Duration: DefaultUnreadyGrace})
	spec.Scheduling.setDefaults(spec.oneObject())
	for i := range spec.Claims {
		spec.Claims[i].setDefaults()
	}
	for i := range spec.Clusters {
		spec.Clusters[i].setDefaults()
	}
}

// oneObject: all Ray pods belong to one object, which is admitted whole.
func (s *Spec) oneObject() bool {
	return s.Backend == BackendJobSet || s.Backend == BackendRayJob && len(s.Clusters) == 1
}

// setDefaults chooses the largest gang that the scheduler can form.
func (s *Scheduling) setDefaults(oneObject bool) {
	setDefault(&s.Scheduler, SchedulerDefault)
	gang := GangNone
	switch s.Scheduler {
	case SchedulerKAI:
		setDefault(&s.KAIVersion, DefaultKAIVersion)
		gang = GangRun
	case SchedulerWorkload:
		gang = GangRun
	case SchedulerKueue:
		if oneObject {
			gang = GangRun
		}
	}
	setDefault(&s.Gang, gang)
}

func (c *Claim) setDefaults() {
	if c.ComputeDomain != nil {
		setDefault(&c.ComputeDomain.APIVersion, DefaultComputeDomainAPI)
	}
	if c.Devices != nil {
		setDefault(&c.Devices.APIVersion, DefaultResourceAPI)
		setDefault(&c.Devices.Count, 1)
	}
}

func (c *Cluster) setDefaults() {
	setDefault(&c.Ports.GCS, DefaultGCSPort)
	setDefault(&c.Ports.Dashboard, DefaultDashPort)
	setDefault(&c.Ports.Client, DefaultClientPort)
	for i := range c.Publish {
		c.Publish[i].setDefaults()
	}
	for i := range c.Workers {
		if c.Workers[i].Replicas == nil {
			c.Workers[i].Replicas = new(int32(1))
		}
	}
}

// setDefaults holds the address of NeMo Gym's head server back until it answers: who reads it sends requests at once, and takes a
// refused connection for a failure of the environment.
func (p *Publish) setDefaults() {
	if p.Key != KeyGymHead || p.When != nil {
		return
	}
	port := 0 // that of the URL in the file
	if p.File == "" {
		u, err := url.Parse(reference.ReplaceAllString(p.URL, "1"))
		if err != nil {
			return // Validate says so
		}
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return
		}
	}
	p.When = &Condition{HTTPGet: &HTTPGet{Port: int32(port), Path: DefaultGymHeadPath}}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
