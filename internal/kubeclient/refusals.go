package kubeclient

import (
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RolesWithin is how long a refusal (403) may come from an API server that has not read the roles yet. One that has
// just started answers a moment too early; a refusal that lasts longer is meant.
const RolesWithin = 10 * time.Second

// Refusals tells refusals that may pass from those that stay. One that follows an error of the connection, a 5xx or a
// 429, and one that names a role or binding which the server does not know, may pass for [RolesWithin] from the first in
// a row on. Any other is the server's answer. The zero value is ready; it is about one verb on one object.
type Refusals struct {
	troubled bool      // before the refusals the server was away, busy or broken
	since    time.Time // the first refusal in a row
}

// MayPass is told the outcome of every request, and whether that is a refusal worth another try.
func (r *Refusals) MayPass(err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		if r.since.IsZero() {
			r.since = time.Now()
		}
		return (r.troubled || namesMissingRole(err)) && time.Since(r.since) < RolesWithin
	case Retryable(err):
		r.trouble(err)
	default:
		*r = Refusals{}
	}
	return false
}

// trouble is an answer that was none. A server that is only busy (429) has not started again, so its refusals count on.
func (r *Refusals) trouble(err error) {
	r.troubled = true
	if !apierrors.IsTooManyRequests(err) {
		r.since = time.Time{}
	}
}

// unknownRole is how the RBAC authorizer says that it follows a binding to a role that it has not got.
var unknownRole = regexp.MustCompile(`RBAC: .*(role|binding)\S* .*not found`)

func namesMissingRole(err error) bool { return unknownRole.MatchString(err.Error()) }

// unsettled is a refusal that may pass. It is no API status, so it counts as a server that cannot be asked.
type unsettled struct{ refusal error }

func (u *unsettled) Error() string {
	return "the API server may not have read the roles yet: " + u.refusal.Error()
}

// access is what a follower has been refused. Trouble with one verb is trouble with the server.
type access struct{ list, get, watch Refusals }

func (a *access) listed(err error) bool {
	a.troubled(err)
	return a.list.MayPass(err)
}

func (a *access) got(err error) bool {
	a.troubled(err)
	return a.get.MayPass(err)
}

func (a *access) watched(err error) bool {
	a.troubled(err)
	return a.watch.MayPass(err)
}

func (a *access) troubled(err error) {
	if !Retryable(err) {
		return
	}
	for _, r := range []*Refusals{&a.list, &a.get, &a.watch} {
		r.trouble(err)
	}
}
