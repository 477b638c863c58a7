// Package plan says what a run will be before it is started, and whether a cluster has room for it.
//
// [Of] reads the rendered objects and needs no cluster: the objects, the pods with what they ask for, the gangs that the scheduler will
// form, who may do what, and the addresses of heads. [Look] asks a cluster with the rights of its user, and [Plan.Judge] holds the two
// against each other without any client. Every check leaves a [Finding]; the first that blocks is the [Verdict].
//
// It promises that nothing is changed in the cluster, that a question which the user may not ask is answered "cannot tell" and never
// counts as a failure, and that a run which is there already is not counted against itself.
//
// Whether pods fit is an estimate: it counts requests against what nodes have free, the largest pods first, with node selectors, node
// affinity, taints and required topology levels. It knows nothing of affinity between pods, of where volumes can be reached, of devices
// behind claims, and of what else is started at the same moment. Preemption is not tried: what is taken is taken.
package plan
