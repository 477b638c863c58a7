package registry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	authv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a real API server.
type server struct {
	admin kubernetes.Interface
	cfg   *rest.Config
}

func startServer(t *testing.T) *server {
	t.Helper()
	cfg := testenv.Start(t)
	admin, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return &server{admin: admin, cfg: cfg}
}

// run makes the ConfigMap of a run, as `tandem up` does.
func (s *server) run(t *testing.T, run string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: DefaultPrefix + run}}
	_, err := s.admin.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (s *server) delete(t *testing.T, run string) {
	t.Helper()
	require.NoError(t, s.admin.CoreV1().ConfigMaps("default").Delete(t.Context(), DefaultPrefix+run, metav1.DeleteOptions{}))
}

func (s *server) read(t *testing.T, run string) *corev1.ConfigMap {
	t.Helper()
	cm, err := s.admin.CoreV1().ConfigMaps("default").Get(t.Context(), DefaultPrefix+run, metav1.GetOptions{})
	require.NoError(t, err)
	return cm
}

// store opens a run's registry as pod.
func (s *server) store(t *testing.T, run, pod string) *Store {
	t.Helper()
	return openStore(t, s.cfg, run, pod)
}

func openStore(t *testing.T, cfg *rest.Config, run, pod string) *Store {
	t.Helper()
	config := Config{Run: run, Namespace: "default"}
	if pod != "" {
		config.Publisher = Publisher{Pod: pod, UID: "uid-of-" + pod}
	}
	store, err := New(config, cfg)
	require.NoError(t, err)
	return store
}

// as is the configuration of a user who may do only what verbs say, on the ConfigMap of run.
func (s *server) as(t *testing.T, user, run string, verbs ...string) *rest.Config {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"},
			ResourceNames: []string{DefaultPrefix + run}, Verbs: verbs,
		}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	_, err := s.admin.RbacV1().Roles("default").Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{})
	require.NoError(t, err)
	cfg := rest.CopyConfig(s.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	s.awaitRole(t, cfg, run, verbs[0])
	return cfg
}

// awaitRole waits until the API server's authorizer has seen the role.
func (s *server) awaitRole(t *testing.T, cfg *rest.Config, run, verb string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	review := &authv1.SelfSubjectAccessReview{Spec: authv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authv1.ResourceAttributes{
		Namespace: "default", Verb: verb, Resource: "configmaps", Name: DefaultPrefix + run,
	}}}
	require.Eventually(t, func() bool {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	}, 10*time.Second, 20*time.Millisecond)
}

type result struct {
	value string
	err   error
}

// waiting starts a Get and returns when it has seen the registry without the key, so that it now waits.
func waiting(t *testing.T, s *Store, key string) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		value, err := s.Get(t.Context(), key)
		done <- result{value, err}
	}()
	require.Eventually(t, func() bool {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		return s.feed.waiters > 0 && s.feed.level != nil
	}, 10*time.Second, time.Millisecond)
	return done
}

func receive(t *testing.T, done <-chan result) result {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		require.FailNow(t, "nobody woke the waiter")
		return result{}
	}
}
