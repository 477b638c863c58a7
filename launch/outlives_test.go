package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// A run that peerwatch starts again has an error for a moment. `tandem up --wait` once took that for its end.
func TestAnErrorIsTheEndOnlyWhereNothingOutlivesIt(t *testing.T) {
	t.Parallel()
	ended := func(kind batchv1.JobConditionType) *batchv1.Job {
		job := &batchv1.Job{}
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
		return job
	}
	tests := []struct {
		name     string
		reaction v1alpha1.OnPeerFailure
		driver   *batchv1.Job
		want     Phase
	}{
		{"cascade, which is not written down", "", &batchv1.Job{}, Failed},
		{"signal", v1alpha1.PeerFailureSignal, &batchv1.Job{}, Failed},
		{"restart, while the driver is there", v1alpha1.PeerFailureRestart, &batchv1.Job{}, Pending},
		{"restart, which has given up", v1alpha1.PeerFailureRestart, nil, Failed},
		{"restart, and a driver that failed", v1alpha1.PeerFailureRestart, ended(batchv1.JobFailed), Failed},
		{"ignore, while the driver is there", v1alpha1.PeerFailureIgnore, &batchv1.Job{}, Pending},
		{"ignore, and a driver that is complete", v1alpha1.PeerFailureIgnore, ended(batchv1.JobComplete), Succeeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{}
			if tt.reaction != "" {
				annotations[v1alpha1.AnnotationOnPeerFailure] = string(tt.reaction)
			}
			s := &snapshot{name: "r", driver: tt.driver, configMap: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Data: map[string]string{v1alpha1.ErrorKey: "gym failed"},
			}}
			var status Status
			s.judgeRayClusters(&status)
			require.Equal(t, tt.want, status.Phase)
		})
	}
}
