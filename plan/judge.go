package plan

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	rbacvalidation "k8s.io/component-helpers/auth/rbac/validation"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Judge holds the plan against what was seen of a cluster. It may be called once.
func (p *Plan) Judge(s *Sight) {
	p.judgeNamespace(s)
	p.judgeKinds(s)
	p.judgeRights(s)
	p.judgeGrants(s)
	for i := range p.Needs {
		p.judgeReference(s, &p.Needs[i])
	}
	switch p.Scheduler {
	case v1alpha1.SchedulerKAI:
		p.judgeVersion(s)
		p.judgeTopology(s)
		p.judgeQueue(s)
	case v1alpha1.SchedulerKueue:
		p.judgeLocalQueue(s)
	}
	p.judgeQuotas(s)
	p.judgeRoom(s)
	p.conclude()
}

// cannotTell is the finding of a question that was not answered.
func (p *Plan) cannotTell(about string, err error) {
	if apierrors.IsForbidden(err) {
		p.find(Unknown, about, "you may not look")
		return
	}
	p.find(Unknown, about, "%v", err)
}

func (p *Plan) judgeNamespace(s *Sight) {
	about := "namespace " + p.Namespace
	switch err := s.Namespace.Err; {
	case apierrors.IsNotFound(err):
		p.find(Missing, about, "there is none; kubectl create namespace %s", p.Namespace)
	case err != nil:
		p.cannotTell(about, err)
	case s.Namespace.Value.DeletionTimestamp != nil:
		p.find(Refused, about, "is being deleted")
	default:
		p.find(OK, about, "is there")
	}
}

func (p *Plan) judgeKinds(s *Sight) {
	var served []string
	for _, kind := range p.kinds() {
		about := fmt.Sprintf("%s (%s)", kind.Kind, kind.GroupVersion())
		switch seen := s.Served[kind]; {
		case seen.Err != nil:
			p.cannotTell(about, seen.Err)
		case !seen.Value:
			p.find(Missing, about, "the cluster does not know it; %s", bringers[kind.Group])
		case bringers[kind.Group] != "":
			served = append(served, kind.Kind)
		}
	}
	if len(served) > 0 {
		p.find(OK, "kinds", "the cluster knows %s", strings.Join(served, ", "))
	}
}

// judgeRights tells what is denied by resource.
func (p *Plan) judgeRights(s *Sight) {
	denied, order := map[string][]string{}, []string{}
	for _, access := range s.Access {
		if access.Allowed.Err != nil {
			p.cannotTell("your rights", access.Allowed.Err)
			return
		}
		if access.Allowed.Value {
			continue
		}
		if denied[access.Resource] == nil {
			order = append(order, access.Resource)
		}
		denied[access.Resource] = append(denied[access.Resource], access.Verb)
	}
	for _, resource := range order {
		p.find(Refused, "your rights", "you may not %s %s in namespace %s, which `tandem up` does; docs/user-role.yaml has a role that may",
			strings.Join(denied[resource], ", "), resource, p.Namespace)
	}
	if len(order) == 0 {
		p.find(OK, "your rights", "you may do in namespace %s what `tandem up` does", p.Namespace)
	}
}

// judgeGrants: Kubernetes lets nobody give rights to a role that he does not have himself.
func (p *Plan) judgeGrants(s *Sight) {
	const about = "rights of the run"
	if s.Rules.Err != nil {
		p.cannotTell(about, s.Rules.Err)
		return
	}
	var mine []rbacv1.PolicyRule
	for _, rule := range s.Rules.Value.ResourceRules {
		if slices.Contains(rule.Verbs, "escalate") && slices.Contains(rule.Resources, "roles") {
			p.find(OK, about, "you may grant any")
			return
		}
		mine = append(mine, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
		})
	}
	for _, account := range p.Accounts {
		covered, lacking := rbacvalidation.Covers(mine, account.rules)
		switch {
		case covered:
		case s.Rules.Value.Incomplete:
			p.find(Unknown, about, "the server does not tell all of your rights")
			return
		default:
			more := ""
			if len(lacking) > 1 {
				more = fmt.Sprintf(" and %d more", len(lacking)-1)
			}
			p.find(Refused, about, "you cannot grant to ServiceAccount %s what you may not do yourself: %s%s; docs/user-role.yaml has a role that may",
				account.Name, inWords(lacking[0]), more)
			return
		}
	}
	p.find(OK, about, "you may grant what its pods need")
}
