package v1alpha1

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports every problem of a Run whose defaults are set.
func (r *Run) Validate() field.ErrorList {
	errs := r.validateHeader()
	spec := field.NewPath("spec")
	errs = append(errs, r.Spec.validateChoices(spec)...)
	errs = append(errs, r.Spec.validateImages(spec)...)
	errs = append(errs, r.Spec.Failure.validate(spec.Child("failure"))...)
	errs = append(errs, r.validateNames()...)
	if len(r.Spec.Clusters) == 0 {
		errs = append(errs, field.Required(spec.Child("clusters"), "a run has at least one Ray cluster"))
	}
	for i := range r.Spec.Clusters {
		errs = append(errs, r.Spec.Clusters[i].validate(spec.Child("clusters").Index(i))...)
	}
	errs = append(errs, r.Spec.validatePublishedKeys(spec)...)
	return append(errs, r.Spec.validateDriver(spec.Child("driver"))...)
}

func (r *Run) validateHeader() field.ErrorList {
	var errs field.ErrorList
	if r.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), r.APIVersion, []string{APIVersion}))
	}
	if r.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), r.Kind, []string{Kind}))
	}
	return errs
}

// validateChoices checks the fields with a closed set of values.
func (s *Spec) validateChoices(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("backend"), s.Backend, BackendJobSet, BackendRayCluster)
	errs = append(errs, s.validateReaction(path.Child("failure", "onPeerFailure"))...)
	if s.ImagePullPolicy != "" {
		errs = append(errs, oneOf(path.Child("imagePullPolicy"), s.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	return append(errs, s.Scheduling.validate(path.Child("scheduling"))...)
}

func (s *Spec) validateReaction(path *field.Path) field.ErrorList {
	reaction := s.Failure.OnPeerFailure
	errs := oneOf(path, reaction, PeerFailureCascade, PeerFailureSignal, PeerFailureIgnore)
	if len(errs) == 0 && reaction != PeerFailureCascade && s.Backend == BackendJobSet {
		errs = append(errs, field.Invalid(path, reaction, "a JobSet fails as a whole: leave it at cascade, or set backend: raycluster"))
	}
	return errs
}

func (s *Scheduling) validate(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("scheduler"), s.Scheduler, SchedulerDefault, SchedulerKAI)
	switch {
	case s.Scheduler == SchedulerKAI && s.Queue == "":
		errs = append(errs, field.Required(path.Child("queue"), "kai places pods by queue: name a leaf queue"))
	case s.Scheduler == SchedulerDefault && s.Queue != "":
		errs = append(errs, field.Invalid(path.Child("queue"), s.Queue, "the default scheduler knows no queues: set scheduler: kai or remove the queue"))
	case s.Queue != "":
		errs = append(errs, plain(path.Child("queue"), s.Queue, validation.IsValidLabelValue(s.Queue),
			"must be at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit")...)
	}
	return errs
}

func (s *Spec) validateImages(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), "the trainer image: Ray and the training code"))
	}
	if s.Image != "" {
		errs = append(errs, must(path.Child("image"), s.Image, imageReference)...)
	}
	errs = append(errs, must(path.Child("sidecarImage"), s.SidecarImage, imageReference)...)
	for i, name := range s.ImagePullSecrets {
		errs = append(errs, plain(path.Child("imagePullSecrets").Index(i), name, validation.IsDNS1123Subdomain(name),
			"must be lower-case letters, digits, - and ., and begin and end with a letter or digit")...)
	}
	return errs
}

func (f *Failure) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if f.StartupGrace.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("startupGrace"), f.StartupGrace.Duration.String(), "must be longer than zero: it bounds every wait at start"))
	}
	if f.UnreadyGrace.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("unreadyGrace"), f.UnreadyGrace.Duration.String(), "must be longer than zero"))
	}
	return errs
}

func (s *Spec) validateDriver(path *field.Path) field.ErrorList {
	errs := validateEnv(path.Child("env"), s.Driver.Env)
	errs = append(errs, s.validateDriverEnv(path.Child("env"))...)
	errs = append(errs, validateResources(path, s.Driver.Resources, s.Driver.Limits)...)
	if len(s.Driver.Command) == 0 {
		errs = append(errs, field.Required(path.Child("command"), "the command whose exit ends the run"))
	}
	if s.Driver.Cluster == "" {
		return append(errs, field.Required(path.Child("cluster"), "the cluster that the driver is submitted to"))
	}
	names := map[string]bool{}
	for _, cluster := range s.Clusters {
		names[cluster.Name] = true
	}
	if !names[s.Driver.Cluster] {
		errs = append(errs, notFound(path.Child("cluster"), s.Driver.Cluster, "cluster", names))
	}
	return errs
}

// validateDriverEnv refuses values from elsewhere: they would be those of the pod that submits, and everybody could read them.
func (s *Spec) validateDriverEnv(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, variable := range s.Driver.Env {
		if variable.ValueFrom != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("valueFrom"), variable.Name, fmt.Sprintf(
				"the value would be written into the job's command line, which Ray's dashboard shows: "+
					"the driver runs in the head of cluster %q, so set the variable in the env of that head", s.Driver.Cluster)))
		}
	}
	return errs
}

// oneOf reports a value outside a closed set, a missing one as missing.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("one of %q", allowed))}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// notFound reports a reference to a thing that the file does not define, with what it does define.
func notFound(path *field.Path, name, kind string, known map[string]bool) *field.Error {
	detail := fmt.Sprintf("no such %s; there is %q", kind, sortedKeys(known))
	if near := nearest(name, known); near != "" {
		detail = fmt.Sprintf("no such %s; did you mean %q?", kind, near)
	}
	return field.Invalid(path, name, detail)
}
