package fire

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
)

func TestWritersThatPriorityAndFairnessRefusesAllLand(t *testing.T) {
	t.Parallel()
	const writers = 24
	s := newScene(t, registry.Shards(writers), everything...)
	s.throttle(t)
	s.fold(t)
	var group errgroup.Group
	for i := range writers {
		store := s.store(t, fmt.Sprintf("pod-%d", i))
		group.Go(func() error { return store.Set(s.ctx, fmt.Sprintf("key-%d", i), "here") })
	}
	require.NoError(t, group.Wait())
	s.until(t, "all are in the run's ConfigMap", func() bool { return len(s.data(t)) == writers })
	require.NotZero(t, s.fleet.Status(http.StatusTooManyRequests), "nobody was refused, so this showed nothing")
	t.Logf("%d answers were 429 of %d", s.fleet.Status(http.StatusTooManyRequests), s.fleet.Answers())
}

// throttle gives the scene's pods a priority level with room for about three requests at once, and no queue.
func (s *scene) throttle(t *testing.T) {
	t.Helper()
	one, none := int32(1), int32(0)
	level := &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: &one, LendablePercent: &none, BorrowingLimitPercent: &none,
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}
	_, err := s.client.FlowcontrolV1().PriorityLevelConfigurations().Create(s.ctx, level, metav1.CreateOptions{})
	require.NoError(t, err)
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level.Name},
			MatchingPrecedence:         100,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{
					Kind:           flowcontrolv1.SubjectKindServiceAccount,
					ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: s.Namespace, Name: "*"},
				}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"},
				}},
			}},
		},
	}
	schema, err = s.client.FlowcontrolV1().FlowSchemas().Create(s.ctx, schema, metav1.CreateOptions{})
	require.NoError(t, err)
	s.awaitSchema(t, string(schema.UID))
}

// awaitSchema returns when the server answers the scene's pods under that FlowSchema.
func (s *scene) awaitSchema(t *testing.T, uid string) {
	t.Helper()
	client, err := rest.HTTPClientFor(s.pod)
	require.NoError(t, err)
	url := s.pod.Host + "/api/v1/namespaces/" + s.Namespace + "/configmaps/" + s.Name()
	s.until(t, "the FlowSchema is in force", func() bool {
		req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID) == uid
	})
}
