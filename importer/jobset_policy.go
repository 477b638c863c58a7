package importer

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// readPolicies takes what of the JobSet itself is the run's to say.
func (r *jobSetReader) readPolicies() {
	spec := r.root.at("spec")
	r.readLifetime(spec.at("ttlSecondsAfterFinished"))
	const network = "pods of a run find each other by name before they are ready"
	spec.at("network", "enableDNSHostnames").dropUnless(true, network)
	spec.at("network", "publishNotReadyAddresses").dropUnless(true, network)
	spec.at("network", "subdomain").drop("the run's name is the subdomain")
	spec.at("startupPolicy").drop("all pods start at once, as a gang must; those that need a head wait for it")
	spec.at("suspend").drop("a run starts when it is applied")
	r.readCoordinator(spec.at("coordinator"))
	r.readSuccess(spec.at("successPolicy"))
	r.readFailure(spec.at("failurePolicy"))
}

func (m *maker) readLifetime(ttl node) {
	if ttl.there {
		m.run.Spec.TTLAfterFinished = seconds(ttl)
	}
}

// seconds takes a number of them.
func seconds(n node) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n.number(0)) * time.Second}
}

func (r *jobSetReader) readCoordinator(c node) {
	const reason = "the coordinator is the head of the driver's cluster"
	if head := r.heads[r.run.Spec.Driver.Cluster]; head != nil {
		c.at("replicatedJob").dropUnless(head.name, reason)
	}
	c.at("jobIndex").dropUnless(0, reason)
	c.at("podIndex").dropUnless(0, reason)
	c.drop(reason)
}

func (r *jobSetReader) readSuccess(policy node) {
	const reason = "the run succeeds with its driver"
	if r.driver != nil {
		for _, target := range policy.at("targetReplicatedJobs").items() {
			target.dropUnless(r.driver.name, reason)
		}
	}
	policy.at("operator").dropUnless("All", reason)
	policy.drop(reason)
}

// readFailure: a JobSet either fails as a whole or starts again as a whole.
func (r *jobSetReader) readFailure(policy node) {
	failure := &r.run.Spec.Failure
	if restarts := policy.at("maxRestarts").number(0); restarts > 0 {
		failure.OnPeerFailure, failure.MaxRestarts = v1alpha1.PeerFailureRestart, restarts
	}
	for _, rule := range policy.at("rules").items() {
		if action := fmt.Sprint(rule.at("action").value); action != "FailJobSet" {
			r.need("spec.failure", "rule %v of the JobSet does %s; a run treats the failure of every pod alike", rule.at("name").value, action)
		}
	}
	policy.drop("any pod that fails fails the run (failure.onPeerFailure); tandem has a rule for each group")
}
