package v1alpha1

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ResourceGPU is what `gpus` asks for.
const ResourceGPU corev1.ResourceName = "nvidia.com/gpu"

// IsExtendedResource tells whether a resource is one of a device plugin: its request and limit must be equal.
func IsExtendedResource(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return qualified && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// leastMemory is less than any process needs: 64m of memory is a 64 thousandth of a byte.
var leastMemory = resource.MustParse("1Mi")

func (c *Cluster) validate(path *field.Path, backend Backend) field.ErrorList {
	errs := c.PodSettings.validate(path)
	errs = append(errs, c.validateAutoscaler(path.Child("autoscaler"))...)
	errs = append(errs, c.Head.validate(path.Child("head"))...)
	errs = append(errs, c.validateHeadPorts(path)...)
	for i := range c.Workers {
		worker, at := &c.Workers[i], path.Child("workers").Index(i)
		errs = append(errs, worker.validate(at)...)
		errs = append(errs, newPortSet().addNamed(at.Child("ports"), worker.Ports)...)
		errs = append(errs, worker.validateSize(at, backend)...)
	}
	return append(errs, c.validatePublish(path.Child("publish"))...)
}

func (g *Group) validate(path *field.Path) field.ErrorList {
	errs := g.PodSettings.validate(path)
	if g.Image != "" {
		errs = append(errs, must(path.Child("image"), g.Image, imageReference)...)
	}
	if g.GPUs < 0 {
		errs = append(errs, field.Invalid(path.Child("gpus"), g.GPUs, "must not be negative"))
	}
	errs = append(errs, validateResources(path, g.Resources, g.Limits)...)
	return append(errs, validateRayStartParams(path.Child("rayStartParams"), g.RayStartParams)...)
}

// managedParams are flags of `ray start` that tandem sets, with the field that sets them.
var managedParams = map[string]string{
	"head":                        "it follows from the group",
	"address":                     "it follows from the cluster",
	"block":                       "it is always set",
	"port":                        "set ports.gcs of the cluster",
	"dashboard-port":              "set ports.dashboard of the cluster",
	"dashboard-agent-listen-port": "the probes ask it on its default port",
	"metrics-export-port":         "it is 8080",
	"ray-client-server-port":      "set ports.client of the cluster",
	"num-gpus":                    "set gpus of the group",
	"min-worker-port":             "set spec.portRanges.ray",
	"max-worker-port":             "set spec.portRanges.ray",
}

func validateRayStartParams(path *field.Path, params map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(params) {
		if wayOut, managed := managedParams[name]; managed {
			errs = append(errs, field.Invalid(path.Key(name), params[name], "tandem sets this flag: "+wayOut))
		}
		if strings.HasPrefix(name, "-") {
			errs = append(errs, field.Invalid(path.Key(name), params[name], "leave out the dashes: "+strings.TrimLeft(name, "-")))
		}
	}
	return errs
}

// ownEnv are the variables that tandem sets.
var ownEnv = map[string]bool{
	EnvRun: true, EnvNamespace: true, EnvPodIP: true, EnvPodName: true, EnvRegistry: true, EnvIncarnation: true,
	EnvGenerationPortLow: true, EnvGenerationPortHigh: true, EnvGymPortLow: true, EnvGymPortHigh: true,
}

func validateEnv(path *field.Path, env []corev1.EnvVar) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]*field.Path{}
	for i, variable := range env {
		name := path.Index(i).Child("name")
		switch {
		case variable.Name == "":
			errs = append(errs, field.Required(name, "the variable's name"))
		case ownEnv[variable.Name]:
			errs = append(errs, field.Invalid(name, variable.Name, "tandem sets this variable: choose another name"))
		case seen[variable.Name] != nil:
			errs = append(errs, duplicate(name, variable.Name, seen[variable.Name])...)
		default:
			errs = append(errs, plain(name, variable.Name, validation.IsEnvVarName(variable.Name),
				"must be letters, digits, _, - and ., and not begin with a digit")...)
			seen[variable.Name] = name
		}
		if variable.Value != "" && variable.ValueFrom != nil {
			errs = append(errs, field.Invalid(path.Index(i).Child("valueFrom"), variable.Name, "value is set too: remove one"))
		}
	}
	return errs
}

func validateResources(path *field.Path, requests, limits corev1.ResourceList) field.ErrorList {
	errs := validateQuantities(path.Child("resources"), requests)
	errs = append(errs, validateQuantities(path.Child("limits"), limits)...)
	for _, name := range sortedResources(limits) {
		request, both := requests[name]
		if limit := limits[name]; both && IsExtendedResource(name) && request.Cmp(limit) != 0 {
			errs = append(errs, field.Invalid(path.Child("limits").Key(string(name)), limit.String(),
				fmt.Sprintf("differs from the request of %s, and of a device plugin's resource both are the same: remove it here", request.String())))
			continue
		}
		if limit := limits[name]; both && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("limits").Key(string(name)), limit.String(), fmt.Sprintf("is less than the request of %s", request.String())))
		}
	}
	return errs
}

func validateQuantities(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedResources(list) {
		quantity, at := list[name], path.Key(string(name))
		if quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(at, quantity.String(), "must not be negative"))
		}
		if name == corev1.ResourceMemory && quantity.Sign() > 0 && quantity.Cmp(leastMemory) < 0 {
			errs = append(errs, field.Invalid(at, quantity.String(), fmt.Sprintf("is less than 1Mi; did you mean %sMi?", strings.TrimRight(quantity.String(), "munk"))))
		}
		if name == ResourceGPU {
			errs = append(errs, field.Invalid(at, quantity.String(), "GPUs are asked for by the group's gpus field, so that Ray hears of them too"))
		}
	}
	return errs
}

func sortedResources(list corev1.ResourceList) []corev1.ResourceName {
	names := map[string]bool{}
	for name := range list {
		names[string(name)] = true
	}
	sorted := make([]corev1.ResourceName, 0, len(list))
	for _, name := range sortedKeys(names) {
		sorted = append(sorted, corev1.ResourceName(name))
	}
	return sorted
}
