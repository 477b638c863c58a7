// Package podclient speaks to an API server as the pods of a run do: as a ServiceAccount with a role, each over a
// connection of its own, and counts what the server answers. It is for tests and benchmarks.
package podclient

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Account is a ServiceAccount and its role.
type Account struct {
	namespace, name string
	admin           kubernetes.Interface
	cfg             *rest.Config
}

// NewAccount makes a ServiceAccount that may do verbs on the ConfigMaps of a namespace, and returns once the API server
// knows that it may.
func NewAccount(ctx context.Context, admin *rest.Config, namespace, name string, verbs ...string) (*Account, error) {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, err
	}
	a := &Account{namespace: namespace, name: name, admin: client, cfg: rest.AnonymousClientConfig(admin)}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if _, err := client.RbacV1().Roles(namespace).Create(ctx, a.role(verbs), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	}
	if _, err := client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return a, a.await(ctx, verbs)
}

func (a *Account) role(verbs []string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
}

// Allow replaces what the account may do, and returns once the API server knows.
func (a *Account) Allow(ctx context.Context, verbs ...string) error {
	if _, err := a.admin.RbacV1().Roles(a.namespace).Update(ctx, a.role(verbs), metav1.UpdateOptions{}); err != nil {
		return err
	}
	return a.await(ctx, verbs)
}

func (a *Account) await(ctx context.Context, verbs []string) error {
	for _, verb := range verbs {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               a.User(),
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: a.namespace, Verb: verb, Resource: "configmaps"},
		}}
		err := Until(ctx, func() bool {
			answer, err := a.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed
		})
		if err != nil {
			return fmt.Errorf("%s may not %s configmaps: %w", a.User(), verb, err)
		}
	}
	return nil
}

// User is the account's name as a user.
func (a *Account) User() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// tokenLife is how long a token is valid: longer than any test.
const tokenLife int64 = 3600

// Token asks for a token of the account. With a Secret it is one that dies with that Secret.
func (a *Account) Token(ctx context.Context, boundTo *corev1.Secret) (string, error) {
	life := tokenLife
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
	if boundTo != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Secret", Name: boundTo.Name, UID: boundTo.UID,
		}
	}
	answer, err := a.admin.CoreV1().ServiceAccounts(a.namespace).CreateToken(ctx, a.name, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// Config is the configuration of a pod of the account, with a token.
func (a *Account) Config(ctx context.Context) (*rest.Config, error) {
	token, err := a.Token(ctx, nil)
	cfg := rest.CopyConfig(a.cfg)
	cfg.BearerToken = token
	return cfg, err
}

// ConfigWithTokenFile is the configuration of a pod whose token is in a file, as the kubelet leaves it there.
func (a *Account) ConfigWithTokenFile(file string) *rest.Config {
	cfg := rest.CopyConfig(a.cfg)
	cfg.BearerTokenFile = file
	return cfg
}

// Until asks every few milliseconds until holds, or ctx ends.
func Until(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
