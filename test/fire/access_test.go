package fire

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
)

// mortal is a token that is over as soon as its Secret is gone: the server takes no lifetime below ten minutes.
type mortal struct {
	secret *corev1.Secret
	token  string
}

func (s *scene) newMortal(t *testing.T, name string) mortal {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	secret, err := s.client.CoreV1().Secrets(s.Namespace).Create(s.ctx, secret, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := s.account.Token(s.ctx, secret)
	require.NoError(t, err)
	return mortal{secret, token}
}

// die returns when the server takes the token no more; it remembers tokens for ten seconds.
func (s *scene) die(t *testing.T, m mortal) {
	t.Helper()
	require.NoError(t, s.client.CoreV1().Secrets(s.Namespace).Delete(s.ctx, m.secret.Name, metav1.DeleteOptions{}))
	cfg := rest.AnonymousClientConfig(admin)
	cfg.BearerToken = m.token
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	s.until(t, "the token is refused", func() bool {
		_, err := client.CoreV1().ConfigMaps(s.Namespace).Get(s.ctx, s.Name(), metav1.GetOptions{})
		return apierrors.IsUnauthorized(err)
	})
}

// rotate replaces the file as the kubelet does.
func rotate(t *testing.T, file string, m mortal) {
	t.Helper()
	require.NoError(t, os.WriteFile(file+".new", []byte(m.token), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

func TestATokenThatExpiresAndIsRotatedCostsNeitherAWriteNorAWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0, everything...)
	file := filepath.Join(t.TempDir(), "token")
	old := s.newMortal(t, "old")
	rotate(t, file, old)
	s.pod = s.account.ConfigWithTokenFile(file)
	scribes, stop := s.scribes(t, 4)
	waiters := s.waiters(t, 4, "late")
	s.awaitMore(t, scribes)

	s.die(t, old)
	s.until(t, "writers are refused", func() bool { return s.fleet.Status(http.StatusUnauthorized) >= len(scribes) })
	rotate(t, file, s.newMortal(t, "new"))

	s.awaitMore(t, scribes)
	require.NoError(t, s.store(t, "publisher").Set(s.ctx, "late", "http://10.0.0.1:80"))
	for _, w := range waiters {
		w.requireValue(t, "http://10.0.0.1:80")
	}
	stop()
}

func TestARoleWithoutWatchIsEnoughToWait(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0, "get", "patch")
	w := s.waiter(s.ctx, s.store(t, "waiter"), "late")
	s.until(t, "the watch is refused", func() bool { return s.fleet.Status(http.StatusForbidden) > 0 })
	require.NoError(t, s.store(t, "publisher").Set(s.ctx, "late", "http://10.0.0.1:80"))
	w.requireValue(t, "http://10.0.0.1:80")
	require.Zero(t, s.fleet.Watches())
}

func TestARoleWithoutPatchIsToldSoAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0, everything...)
	store := s.store(t, "writer")
	require.NoError(t, store.Set(s.ctx, "first", "1"))
	before := s.data(t)

	require.NoError(t, s.account.Allow(s.ctx, "get", "list", "watch"))
	s.until(t, "the rule is gone", func() bool { return store.Set(s.ctx, "probe", "x") != nil || store.Delete(s.ctx, "probe") != nil })
	for name, write := range map[string]func() error{
		"set":    func() error { return store.Set(s.ctx, "second", "2") },
		"join":   func() error { return store.Join(s.ctx, "list", "2") },
		"delete": func() error { return store.Delete(s.ctx, "first") },
		"fail":   func() error { return store.Fail(s.ctx, "broken") },
	} {
		err := write()
		require.ErrorIs(t, err, registry.ErrForbidden, name)
		require.ErrorContains(t, err, `verb "patch" on configmaps`, name)
		require.ErrorContains(t, err, s.Name(), name)
	}
	value, err := store.GetNow(s.ctx, "first")
	require.NoError(t, err, "readers do not notice")
	require.Equal(t, "1", value)
	after := s.data(t)
	delete(after, "probe")
	require.Equal(t, before, after)

	require.NoError(t, s.account.Allow(s.ctx, everything...))
	require.NoError(t, store.Set(s.ctx, "second", "2"))
	require.Equal(t, "2", s.data(t)["second"])
}
