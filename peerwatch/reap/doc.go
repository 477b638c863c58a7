// Package reap deletes pods that hang before their first container, so that they start again elsewhere: a network plugin
// or a DRA driver that is wedged on one node holds a whole gang, and its GPUs, for ever.
//
// A [Reaper] watches the pods of one namespace by labels. When one has been scheduled for long and nothing of it has
// started, it reads the pod and its Events again, and decides ([Decide] is a pure function; its test is the
// specification, and docs/reap.md shows it). A pod is deleted when the kubelet's Events name a cause that another node
// may not have. What was deleted is in the book, a ConfigMap, before it is deleted: it counts against the node, the gang
// and the namespace, whoever deletes, however often a pod is made again, and after a restart. A node whose budget is used
// up is excluded; a gang that used its own up is left alone.
//
// It promises: time in the queue does not count; no evidence, no deletion; never an incarnation other than the one that
// was judged; never more than the budgets allow, by any number of reapers; whatever the API server refuses is said in the
// log, in [Observer.Looked] and so in readiness.
//
// It does not judge pods that have started once, pods that pull an image, or what ends slowly; it does not repair the node,
// and never takes its own taint off.
//
//	reaper, err := reap.New(reap.Config{Namespace: "train", Policy: reap.DefaultPolicy()}, restConfig)
//	err = reaper.Run(ctx) // blocks until ctx ends
package reap
