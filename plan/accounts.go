package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// Account is a ServiceAccount and what it may do.
type Account struct {
	Name string `json:"name"`
	// UsedBy are the groups whose pods have it, Containers those that hold its token.
	UsedBy     []string `json:"usedBy"`
	Containers []string `json:"containers"`
	// May are sentences: "get, watch configmaps a, b".
	May []string `json:"may"`

	rules []rbacv1.PolicyRule
}

// readAccounts reads the run's roles. A role has the name of its account.
func (p *Plan) readAccounts() error {
	for _, object := range p.objects {
		if object.GetKind() != "Role" {
			continue
		}
		role := &rbacv1.Role{}
		if err := convert(object, role); err != nil {
			return fmt.Errorf("reading Role %s: %w", object.GetName(), err)
		}
		account := Account{Name: role.Name, rules: role.Rules}
		for _, rule := range role.Rules {
			account.May = append(account.May, inWords(rule))
		}
		for _, c := range p.crews {
			if c.template.Spec.ServiceAccountName == account.Name {
				account.UsedBy = union(account.UsedBy, c.name())
				account.Containers = union(account.Containers, withToken(c.template.Spec)...)
			}
		}
		p.Accounts = append(p.Accounts, account)
	}
	for i := range p.crews {
		p.readForeign(&p.crews[i])
	}
	return nil
}

// readForeign notes tokens that a pod template asks for.
func (p *Plan) readForeign(c *crew) {
	name := cmp.Or(c.template.Spec.ServiceAccountName, "default")
	containers := withToken(c.template.Spec)
	i := slices.IndexFunc(p.Accounts, func(a Account) bool { return a.Name == name })
	switch {
	case len(containers) == 0 || i >= 0 && p.Accounts[i].rules != nil:
		return
	case i < 0:
		i = len(p.Accounts)
		p.Accounts = append(p.Accounts, Account{Name: name, May: []string{"what its own bindings say, which are not the run's"}})
	}
	account := &p.Accounts[i]
	account.UsedBy, account.Containers = union(account.UsedBy, c.name()), union(account.Containers, containers...)
}

// union appends what is not there yet.
func union(list []string, more ...string) []string {
	for _, item := range more {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// withToken are the containers that mount a token of the pod's account.
func withToken(spec corev1.PodSpec) []string {
	tokens := map[string]bool{}
	for _, volume := range spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			tokens[volume.Name] = tokens[volume.Name] || source.ServiceAccountToken != nil
		}
	}
	everywhere := or(spec.AutomountServiceAccountToken, true)
	var out []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		mounts := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return tokens[m.Name] })
		if everywhere || mounts {
			out = append(out, container.Name)
		}
	}
	return out
}

// fewNames is how many objects a sentence names.
const fewNames = 4

func inWords(rule rbacv1.PolicyRule) string {
	resources := slices.Clone(rule.Resources)
	for i, group := range rule.APIGroups {
		if group != "" && i < len(resources) {
			resources[i] += "." + group
		}
	}
	text := strings.Join(rule.Verbs, ", ") + " " + strings.Join(resources, ", ")
	names := rule.ResourceNames
	switch {
	case len(names) == 0:
		return text + " of any name"
	case len(names) > fewNames:
		return fmt.Sprintf("%s %s and %d more", text, strings.Join(names[:fewNames-1], ", "), len(names)-fewNames+1)
	}
	return text + " " + strings.Join(names, ", ")
}
