package reap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

func TestOnAServer(t *testing.T) {
	s := startServer(t)
	for i, tc := range []struct {
		name string
		run  func(*testing.T, *place)
	}{
		{"a pod that is stuck is deleted, booked, and told of", stuckPodIsDeleted},
		{"pods without evidence stay", podsWithoutEvidenceStay},
		{"a pod that starts at last stays", podThatStartsStays},
		{"an incarnation that was not judged stays", otherIncarnationStays},
		{"a gang that used its budget up is left alone, after a restart too", gangIsLeftAlone},
		{"a node whose budget is used up is reported", nodeIsReported},
		{"a node whose budget is used up is tainted, once, and what hangs there moves", nodeIsTainted},
		{"what a reaper left is finished by the next", nextReaperFinishes},
		{"two reapers spend one budget", twoReapersSpendOneBudget},
		{"a budget that another reaper has spent in between is not spent again", budgetIsNotSpentTwice},
		{"a dry run does nothing", dryRunDoesNothing},
		{"an API server that refuses is no evidence", refusalsAreNoEvidence},
		{"without a book nothing is deleted", noBookNoDeletion},
		{"a reaper that may not do its work says so before it has any", missingRightsAreSaid},
		{"the manifest is accepted, and its rights suffice", manifestSuffices},
		{"nothing is asked while nothing is stuck", nothingIsAskedWhileNothingIsStuck},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, s.newPlace(t, fmt.Sprintf("case-%d", i))) })
	}
}

func stuckPodIsDeleted(t *testing.T, p *place) {
	pod := p.stuck(t, "w-1", "node-1", "a")
	seen, _ := p.reap(t, p.cfg)
	seen.decided(t, pod, Delete)
	require.False(t, p.there(t, pod))
	require.True(t, p.book(t).has(Pod{Node: "node-1", UID: string(pod.UID)}))
	require.Equal(t, "run a", p.book(t).Pages["node-1"].Deletions[0].Gang)
	event := p.events(t, pod)[EventReaped]
	require.Contains(t, event.Note, "FailedPrepareDynamicResources: imex is wedged")
	require.Equal(t, "reaper", event.ReportingInstance)
}

func podsWithoutEvidenceStay(t *testing.T, p *place) {
	silent := p.waiting(t, "silent", "node-1", "a")
	deadline := p.waiting(t, "deadline", "node-1", "a")
	p.event(t, deadline, "Unhealthy")
	pulling := p.stuck(t, "pulling", "node-1", "a")
	pulling.Status.Conditions[1].Status = corev1.ConditionTrue
	require.NoError(t, p.Status().Update(t.Context(), pulling))
	queued := p.stuck(t, "queued", "", "a")
	other := p.stuck(t, "other", "node-1", "a")
	other.Labels = nil
	require.NoError(t, p.Update(t.Context(), other))

	seen, _ := p.reap(t, p.cfg)
	seen.decided(t, silent, Unexplained)
	seen.twice(t)
	for _, pod := range []*corev1.Pod{silent, deadline, pulling, queued, other} {
		require.True(t, p.there(t, pod), pod.Name)
	}
	require.Contains(t, p.events(t, silent)[EventLeft].Note, "no Event names a cause")
	require.Empty(t, p.events(t, pulling))
	require.Empty(t, p.book(t).Pages)
}

func podThatStartsStays(t *testing.T, p *place) {
	pod := p.waiting(t, "w-1", "node-1", "a")
	seen, _ := p.reap(t, p.cfg)
	seen.decided(t, pod, Unexplained)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	require.NoError(t, p.Status().Update(t.Context(), pod))
	seen.until(t, "nothing prepares", func(l *looks) bool { return len(l.kinds) == 0 })
	p.event(t, pod, "FailedPrepareDynamicResources")
	require.True(t, p.there(t, pod))
}

// otherIncarnationStays: between the decision and the deletion the pod is made again.
func otherIncarnationStays(t *testing.T, p *place) {
	first := p.stuck(t, "w-1", "node-1", "a")
	var second *corev1.Pod
	cfg, requests := faultyapi.Wrap(p.cfg)
	requests.Inject(func(req *http.Request) *http.Response {
		if req.Method == http.MethodDelete && second == nil {
			zero := int64(0)
			require.NoError(t, p.Delete(t.Context(), first, &client.DeleteOptions{GracePeriodSeconds: &zero}))
			second = p.waiting(t, "w-1", "node-1", "a")
		}
		return nil
	})
	seen, _ := p.reap(t, cfg)
	seen.until(t, "the second incarnation", func(l *looks) bool { return l.kinds["w-1"] == Unexplained })
	require.True(t, p.there(t, second))
}

func gangIsLeftAlone(t *testing.T, p *place) {
	seen, stop := p.reap(t, p.cfg)
	for i := range 2 {
		pod := p.stuck(t, fmt.Sprintf("w-%d", i), fmt.Sprintf("node-%d", i), "a")
		seen.decided(t, pod, Delete)
	}
	third := p.stuck(t, "w-3", "node-3", "a")
	seen.decided(t, third, GangSpent)
	stop()
	seen, _ = p.reap(t, p.cfg)
	seen.decided(t, third, GangSpent)
	seen.twice(t)
	require.True(t, p.there(t, third))
	require.Contains(t, p.events(t, third)[EventSpent].Note, "the budget of run a (2/10m) is used up until")

	other := p.stuck(t, "x-1", "node-1", "b")
	seen.decided(t, other, Delete)
}

// fillNode uses the budget of a node up.
func (p *place) fillNode(t *testing.T, seen *looks, node string) {
	t.Helper()
	for i := range 3 {
		pod := p.stuck(t, fmt.Sprintf("full-%d", i), node, fmt.Sprintf("full-%d", i))
		seen.decided(t, pod, Delete)
	}
}

func nodeIsReported(t *testing.T, p *place) {
	seen, _ := p.reap(t, p.cfg)
	p.fillNode(t, seen, "node-1")
	fourth := p.stuck(t, "w-4", "node-1", "a")
	seen.decided(t, fourth, NodeExcluded)
	require.True(t, p.there(t, fourth))
	event := p.events(t, fourth)[EventNodeExcluded]
	require.Contains(t, event.Note, "the budget of node node-1 (3/1h) is used up")
	require.Equal(t, "node-1", event.Related.Name)
	require.Contains(t, p.events(t, fourth)[EventSpent].Note, "node node-1 is excluded since")

	require.NoError(t, p.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: p.meta(DefaultBook)},
		client.RawPatch("application/merge-patch+json", []byte(`{"data":{"node.node-1":null}}`))))
	seen.decided(t, fourth, Delete)
}

func nodeIsTainted(t *testing.T, p *place) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "tainted-1"}, Spec: corev1.NodeSpec{
		Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}},
	}}
	require.NoError(t, p.Create(t.Context(), node))
	seen, _ := p.reap(t, p.cfg, func(c *Config) { c.Policy.Exclude = ExcludeTaint })
	p.fillNode(t, seen, node.Name)
	fourth := p.stuck(t, "w-4", node.Name, "a")
	seen.decided(t, fourth, Delete) // once the node has the taint
	require.False(t, p.there(t, fourth))
	require.Contains(t, p.events(t, fourth), EventNodeExcluded)

	taints := func() (list []string) {
		require.NoError(t, p.Get(t.Context(), client.ObjectKeyFromObject(node), node))
		for _, taint := range node.Spec.Taints {
			list = append(list, taint.ToString())
		}
		return list
	}
	require.Contains(t, taints(), "nvidia.com/gpu:NoSchedule")
	require.Contains(t, taints(), Taint)
	require.True(t, p.book(t).Pages[node.Name].Excluded.Tainted)

	node.Spec.Taints = nil // a person takes it off
	require.NoError(t, p.Update(t.Context(), node))
	fifth := p.stuck(t, "w-5", node.Name, "a")
	seen.decided(t, fifth, Delete)
	require.NotContains(t, taints(), Taint, "the taint is put on once")
}

// nextReaperFinishes: a reaper ended after it had booked the deletion.
func nextReaperFinishes(t *testing.T, p *place) {
	pod := p.stuck(t, "w-1", "node-1", "a")
	cfg, requests := faultyapi.Wrap(p.cfg)
	requests.Inject(func(req *http.Request) *http.Response {
		if req.Method == http.MethodDelete {
			return faultyapi.Answer(req, http.StatusServiceUnavailable, "")
		}
		return nil
	})
	seen, stop := p.reap(t, cfg)
	seen.until(t, "a deletion that failed", func(l *looks) bool {
		return len(l.problems) > 0 && strings.Contains(l.problems[0].Error(), "delete pod w-1")
	})
	stop()
	require.True(t, p.there(t, pod))
	seen, _ = p.reap(t, p.cfg)
	seen.decided(t, pod, Delete)
	require.False(t, p.there(t, pod))
	require.Len(t, p.book(t).Pages["node-1"].Deletions, 1, "it is counted once")
}

func twoReapersSpendOneBudget(t *testing.T, p *place) {
	var pods []*corev1.Pod
	for i := range 6 {
		pods = append(pods, p.stuck(t, fmt.Sprintf("w-%d", i), "node-1", fmt.Sprintf("run-%d", i)))
	}
	first, _ := p.reap(t, p.cfg)
	second, _ := p.reap(t, p.cfg)
	for _, seen := range []*looks{first, second} {
		seen.until(t, "three pods of an excluded node", func(l *looks) bool {
			left := 0
			for _, kind := range l.kinds {
				if kind == NodeExcluded {
					left++
				}
			}
			return left == 3 && len(l.kinds) == 3
		})
	}
	left := 0
	for _, pod := range pods {
		if p.there(t, pod) {
			left++
		}
	}
	require.Equal(t, 3, left)
	require.Len(t, p.book(t).Pages["node-1"].Deletions, 3)
}

// budgetIsNotSpentTwice: between the look and the deletion another reaper books what is left of the gang's budget.
func budgetIsNotSpentTwice(t *testing.T, p *place) {
	pod := p.stuck(t, "w-1", "node-1", "a")
	cfg, requests := faultyapi.Wrap(p.cfg)
	requests.Inject(func(req *http.Request) *http.Response {
		if req.Method == http.MethodPatch && len(p.book(t).Pages) == 0 {
			other := Book{}.withDeletion(Pod{Name: "x", UID: "x", Node: "node-2", Gang: "run a"}, time.Now())
			other = other.withDeletion(Pod{Name: "y", UID: "y", Node: "node-2", Gang: "run a"}, time.Now())
			patch, err := other.patch(Book{})
			require.NoError(t, err)
			delete(patch, "metadata")
			raw, err := json.Marshal(patch)
			require.NoError(t, err)
			require.NoError(t, p.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: p.meta(DefaultBook)}, client.RawPatch("application/merge-patch+json", raw)))
		}
		return nil
	})
	seen, _ := p.reap(t, cfg)
	seen.decided(t, pod, GangSpent)
	require.True(t, p.there(t, pod))
	require.Zero(t, requests.Of(http.MethodDelete))
	require.NotContains(t, p.book(t).Pages, "node-1")
}

func dryRunDoesNothing(t *testing.T, p *place) {
	pod := p.stuck(t, "w-1", "node-1", "a")
	cfg, requests := faultyapi.Wrap(p.cfg)
	seen, _ := p.reap(t, cfg, func(c *Config) { c.DryRun = true })
	seen.decided(t, pod, Delete)
	seen.twice(t)
	require.True(t, p.there(t, pod))
	require.Empty(t, p.events(t, pod))
	require.Empty(t, p.book(t).Pages)
	require.Zero(t, requests.Of(http.MethodDelete)+requests.Of(http.MethodPatch))
}

// refusalsAreNoEvidence refuses each read in turn.
func refusalsAreNoEvidence(t *testing.T, p *place) {
	pod := p.stuck(t, "w-1", "node-1", "a")
	for path, want := range map[string]string{
		"/events":     "verb list on events.events.k8s.io",
		"/configmaps": "verb get on configmaps with resourceNames [tandem-reap]",
		"/pods":       "verb list and watch on pods",
		"/pods/w-1":   "verb get on pods",
	} {
		cfg, requests := faultyapi.Wrap(p.cfg)
		requests.Inject(func(req *http.Request) *http.Response {
			if req.Method == http.MethodGet && (strings.HasSuffix(req.URL.Path, path) || (path == "/configmaps" && strings.Contains(req.URL.Path, path))) {
				return faultyapi.Answer(req, http.StatusForbidden, "")
			}
			return nil
		})
		seen, stop := p.reap(t, cfg)
		seen.until(t, want, func(l *looks) bool {
			for _, problem := range l.problems {
				if strings.Contains(problem.Error(), want) {
					return true
				}
			}
			return false
		})
		stop()
		require.True(t, p.there(t, pod), path)
		require.Zero(t, requests.Of(http.MethodDelete), path)
	}
}

func noBookNoDeletion(t *testing.T, p *place) {
	require.NoError(t, p.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: p.meta(DefaultBook)}))
	pod := p.stuck(t, "w-1", "node-1", "a")
	seen, _ := p.reap(t, p.cfg)
	seen.until(t, "a missing book", func(l *looks) bool {
		return l.kinds["w-1"] == Blind && len(l.problems) > 0 && strings.Contains(l.problems[0].Error(), "kubectl -n "+p.namespace+" create configmap tandem-reap")
	})
	require.True(t, p.there(t, pod))
	require.NoError(t, p.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: p.meta(DefaultBook)}))
	seen.decided(t, pod, Delete)
}

// as returns a configuration for a user with a role of its own in the namespace.
func (p *place) as(t *testing.T, user string, rules []rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	require.NoError(t, p.Create(t.Context(), &rbacv1.Role{ObjectMeta: p.meta(user), Rules: rules}))
	require.NoError(t, p.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: p.meta(user),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
	cfg := rest.CopyConfig(p.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return cfg
}

func missingRightsAreSaid(t *testing.T, p *place) {
	cfg := p.as(t, "poor", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}})
	seen, _ := p.reap(t, cfg, func(c *Config) { c.Policy.Exclude = ExcludeTaint })
	for _, want := range []string{
		"verb get on pods", "verb delete on pods", "verb list on events.events.k8s.io", "verb create on events.events.k8s.io",
		"verb get on configmaps with resourceNames [tandem-reap]", "verb patch on configmaps with resourceNames [tandem-reap]",
		"verb get on nodes (a ClusterRole)", "verb patch on nodes (a ClusterRole)",
	} {
		seen.until(t, want, func(l *looks) bool {
			for _, problem := range l.problems {
				if strings.Contains(problem.Error(), want) {
					return true
				}
			}
			return false
		})
	}
}

func nothingIsAskedWhileNothingIsStuck(t *testing.T, p *place) {
	cfg, requests := faultyapi.Wrap(p.cfg)
	seen, _ := p.reap(t, cfg, func(c *Config) { c.Selectors = []string{"ray.io/cluster"} })
	seen.until(t, "a first look", func(l *looks) bool { return len(l.problems) == 0 })
	asked := requests.Of(http.MethodGet) + requests.Of(http.MethodPost)
	young := p.waitingFor(t, 0, "young", "node-1", "a")
	seen.decided(t, young, Wait)
	require.Equal(t, asked, requests.Of(http.MethodGet)+requests.Of(http.MethodPost), "the watch tells all")
	require.Equal(t, 1, requests.Of("WATCH"))
}
