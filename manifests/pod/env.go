package pod

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// baseEnv is the environment of every container, first in the list so that $(POD_IP) and the like expand in what follows.
func baseEnv(run *v1alpha1.Run) []*corev1ac.EnvVarApplyConfiguration {
	return []*corev1ac.EnvVarApplyConfiguration{
		literal(v1alpha1.EnvRun, run.Metadata.Name),
		literal(v1alpha1.EnvNamespace, run.Metadata.Namespace),
		fromField(v1alpha1.EnvPodIP, "status.podIP"),
		fromField(v1alpha1.EnvPodName, "metadata.name"),
	}
}

// env is the environment of the Ray container. RAY_ADDRESS may be overridden by the file. Workers of a RayJob have it from KubeRay, which
// knows their head: its name stands in a variable that comes later in the list.
func (g Group) env() []*corev1ac.EnvVarApplyConfiguration {
	env := baseEnv(g.Run)
	if g.hasRegistry() {
		env = append(env, literal(v1alpha1.EnvRegistry, v1alpha1.RegistryURL))
	}
	if !declares(g.settings.Env, "RAY_ADDRESS") && (g.isHead() || !g.Run.InRayJob(g.Cluster)) {
		env = append(env, literal("RAY_ADDRESS", g.gcsAddress()))
	}
	return slices.Concat(env, rayTokenEnv(g.Run), rangeEnv(g.Run), userEnv(g.settings.Env))
}

// rayTokenEnv makes Ray ask for a token, and gives it to Ray's own processes and clients.
func rayTokenEnv(run *v1alpha1.Run) []*corev1ac.EnvVarApplyConfiguration {
	return userEnv(TokenEnv(run))
}

// rangeEnv tells servers which ports they may take.
func rangeEnv(run *v1alpha1.Run) []*corev1ac.EnvVarApplyConfiguration {
	var out []*corev1ac.EnvVarApplyConfiguration
	add := func(ports v1alpha1.PortRange, low, high string) {
		if from, to, err := ports.Bounds(); err == nil { // none is given, or Validate has refused it
			out = append(out, literal(low, decimal(from)), literal(high, decimal(to)))
		}
	}
	add(run.Spec.PortRanges.Generation, v1alpha1.EnvGenerationPortLow, v1alpha1.EnvGenerationPortHigh)
	add(run.Spec.PortRanges.Gym, v1alpha1.EnvGymPortLow, v1alpha1.EnvGymPortHigh)
	return out
}

// envFrom takes over whole Secrets and ConfigMaps.
func (g Group) envFrom() []*corev1ac.EnvFromSourceApplyConfiguration {
	out := make([]*corev1ac.EnvFromSourceApplyConfiguration, len(g.settings.EnvFrom))
	for i := range g.settings.EnvFrom {
		out[i] = &corev1ac.EnvFromSourceApplyConfiguration{}
		mustConvert(g.settings.EnvFrom[i], out[i])
	}
	return out
}

func declares(env []corev1.EnvVar, name string) bool {
	return slices.ContainsFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
}

func literal(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

func fromField(name, path string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(
		corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
}

func fromSecret(name string, key *corev1.SecretKeySelector) *corev1ac.EnvVarApplyConfiguration {
	selector := &corev1ac.SecretKeySelectorApplyConfiguration{}
	mustConvert(key, selector)
	return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().WithSecretKeyRef(selector))
}

// userEnv takes over the variables of the file as they are.
func userEnv(env []corev1.EnvVar) []*corev1ac.EnvVarApplyConfiguration {
	out := make([]*corev1ac.EnvVarApplyConfiguration, len(env))
	for i := range env {
		out[i] = &corev1ac.EnvVarApplyConfiguration{}
		mustConvert(env[i], out[i])
	}
	return out
}

// mustConvert copies a typed value into its apply configuration, which has the same JSON. It panics where that is not so: a
// mistake in this package that every test would hit, not one that a Run file can cause.
func mustConvert(from, to any) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(fmt.Sprintf("%T does not convert to %T: %v", from, to, err))
	}
}

// TokenEnv is what a container of a head needs to talk to Ray where it asks for a token.
func TokenEnv(run *v1alpha1.Run) []corev1.EnvVar {
	if run.Spec.RayToken == nil {
		return nil
	}
	return []corev1.EnvVar{
		{Name: v1alpha1.EnvRayAuthMode, Value: "token"},
		{Name: v1alpha1.EnvRayAuthToken, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: run.Spec.RayToken}},
	}
}
