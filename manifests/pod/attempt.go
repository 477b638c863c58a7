package pod

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// attemptField is JobSet's label with the number of the attempt, from 0, on the pods of every attempt.
const attemptField = "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"

// restartedByJobSet tells whether JobSet may start all pods again. Each attempt is then an incarnation of the registry: nobody reads the
// addresses of the last one, and what is left of it can no longer write.
func (g Group) restartedByJobSet() bool { return !g.onKubeRay() && g.Run.Spec.Failure.Restarts() > 0 }

// attempt tells the registry which incarnation the pod belongs to.
func (g Group) attempt() []*corev1ac.EnvVarApplyConfiguration {
	if !g.restartedByJobSet() {
		return nil
	}
	return []*corev1ac.EnvVarApplyConfiguration{fromField(v1alpha1.EnvIncarnation, attemptField)}
}

// beginAttempt is an init container of the head whose end ends the run: it makes its attempt the current incarnation. Others wait until it
// has.
func (g Group) beginAttempt() []*corev1ac.ContainerApplyConfiguration {
	if !g.restartedByJobSet() || !g.isDriverHead() {
		return nil
	}
	begin := sidecarContainer(g.Run, "begin-attempt", "/registry").
		WithArgs("reset", "--run", g.Run.Metadata.Name, "--namespace", g.Run.Metadata.Namespace, "$("+v1alpha1.EnvIncarnation+")").
		WithEnv(append(baseEnv(g.Run), g.attempt()...)...).
		WithVolumeMounts(mount(tokenVolume, tokenDir).WithReadOnly(true))
	return []*corev1ac.ContainerApplyConfiguration{begin}
}

// hold is how long a driver that has failed waits before its pod ends where JobSet may start the run again. The pod whose failure made the
// driver fail ends seconds after it, when its containers have stopped, and JobSet goes by the first Job that fails.
func hold(run *v1alpha1.Run) []*corev1ac.EnvVarApplyConfiguration {
	if run.Spec.Backend.OnKubeRay() || run.Spec.Failure.Restarts() == 0 {
		return nil
	}
	return []*corev1ac.EnvVarApplyConfiguration{literal("TANDEM_HOLD_SECONDS", "40")}
}

func (g Group) isDriverHead() bool { return g.isHead() && g.Cluster.Name == g.Run.Spec.Driver.Cluster }
