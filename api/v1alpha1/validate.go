package v1alpha1

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports every problem of a Run whose defaults are set.
func (r *Run) Validate() field.ErrorList {
	errs := r.validateHeader()
	spec := field.NewPath("spec")
	errs = append(errs, r.Spec.validateChoices(spec)...)
	errs = append(errs, r.Spec.validateImages(spec)...)
	errs = append(errs, r.Spec.validateOwner(spec)...)
	errs = append(errs, r.Spec.Code.validate(spec.Child("code"))...)
	errs = append(errs, r.Spec.validatePortRanges(spec)...)
	errs = append(errs, r.Spec.validateClaims(spec)...)
	errs = append(errs, r.Spec.PodSettings.validate(spec)...)
	errs = append(errs, r.Spec.Failure.validate(spec.Child("failure"))...)
	errs = append(errs, r.validateNames()...)
	if len(r.Spec.Clusters) == 0 {
		errs = append(errs, field.Required(spec.Child("clusters"), "a run has at least one Ray cluster"))
	}
	for i := range r.Spec.Clusters {
		errs = append(errs, r.Spec.Clusters[i].validate(spec.Child("clusters").Index(i), r.Spec.Backend)...)
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
	errs := oneOf(path.Child("backend"), s.Backend, BackendJobSet, BackendRayCluster, BackendRayJob)
	errs = append(errs, s.validateReaction(path.Child("failure"))...)
	if s.ImagePullPolicy != "" {
		errs = append(errs, oneOf(path.Child("imagePullPolicy"), s.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	}
	return append(errs, s.validateScheduling(path.Child("scheduling"))...)
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

// validateOwner checks whose run it is, who may use it and how long it stays.
func (s *Spec) validateOwner(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.User != "" {
		errs = append(errs, plain(path.Child("user"), s.User, validation.IsValidLabelValue(s.User),
			"must be at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit")...)
	}
	errs = append(errs, validateKey(path.Child("rayToken"), s.RayToken)...)
	if s.RayToken != nil && s.Backend == BackendRayJob {
		errs = append(errs, field.Invalid(path.Child("rayToken"), s.RayToken.Name, "KubeRay submits the driver of a RayJob and does not know this token: set backend: raycluster"))
	}
	if ttl := s.TTLAfterFinished; ttl != nil && ttl.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("ttlAfterFinished"), ttl.Duration.String(), "must not be negative"))
	}
	return append(errs, countable(path.Child("ttlAfterFinished"), s.TTLAfterFinished)...)
}

// longest is as many seconds as Kubernetes' objects can count, in 32 bits.
const longest = math.MaxInt32 * time.Second

func countable(at *field.Path, d *metav1.Duration) field.ErrorList {
	if d == nil || d.Duration <= longest {
		return nil
	}
	return field.ErrorList{field.Invalid(at, d.Duration.String(), fmt.Sprintf("is longer than %s, which is as far as Kubernetes counts: write less", longest))}
}

// validateKey checks a reference to a key of a Secret.
func validateKey(at *field.Path, ref *corev1.SecretKeySelector) field.ErrorList {
	if ref == nil {
		return nil
	}
	errs := objectName(at.Child("name"), ref.Name, "the name of a Secret")
	if ref.Key == "" {
		return append(errs, field.Required(at.Child("key"), "the key within the Secret"))
	}
	return append(errs, plain(at.Child("key"), ref.Key, validation.IsConfigMapKey(ref.Key), "must be at most 253 letters, digits, -, _ and .")...)
}

func (s *Spec) validateDriver(path *field.Path) field.ErrorList {
	errs := validateEnv(path.Child("env"), s.Driver.Env)
	errs = append(errs, s.validateDriverEnv(path.Child("env"))...)
	errs = append(errs, validateResources(path, s.Driver.Resources, s.Driver.Limits)...)
	errs = append(errs, s.Driver.PodTemplate.validate(path.Child("podTemplate"), driverContainer)...)
	if limit := s.Driver.ActiveDeadline; limit != nil && limit.Duration < time.Second {
		errs = append(errs, field.Invalid(path.Child("activeDeadline"), limit.Duration.String(), "must be a second or longer"))
	}
	errs = append(errs, countable(path.Child("activeDeadline"), s.Driver.ActiveDeadline)...)
	if s.Backend == BackendRayJob && (len(s.Driver.Resources) > 0 || len(s.Driver.Limits) > 0 || s.Driver.PodTemplate != nil) {
		errs = append(errs, field.Invalid(path, s.Driver.Cluster, "KubeRay submits the driver of a RayJob itself, so there is no pod for resources, limits and podTemplate: remove them"))
	}
	if s.Driver.Retries < 0 {
		errs = append(errs, field.Invalid(path.Child("retries"), s.Driver.Retries, "must not be negative"))
	}
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
