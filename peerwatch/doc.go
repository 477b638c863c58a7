// Package peerwatch takes a run down whole when a part of it fails or when it has finished, so that no GPU is held by
// half a run.
//
// One watcher runs beside the Ray head of each cluster. It watches the run's RayClusters and their pods, the driver Job
// and the registry's ConfigMap, decides from their levels ([Decide] is a pure function; its test is the specification,
// and docs/peerwatch.md shows it), looks again at everything before it acts, and cascades: it reports the reason to the
// registry, emits Events, keeps a [PostMortem], deletes the peers, then the driver Job, and its own cluster last.
//
// It promises: an API server that does not answer, or refuses, is never evidence against a peer; a run that finished
// well is never reported as failed, nor is one that `tandem down` removes; the first reported reason stays; what is only
// told to people does not hold a cascade up for more than two seconds; any number of watchers may cascade at once; a
// watcher that is started again finishes what it left; one whose pod is ended tells the peers.
//
// It does not restart anything, and does not act on its own cluster's deletion: that is what its peers see.
//
//	watcher, err := peerwatch.New(peerwatch.Config{Run: "qwen3", Namespace: "train", Self: "qwen3-rl",
//		Peers: []string{"qwen3-gym"}, Driver: "qwen3-driver", Policy: peerwatch.DefaultPolicy()}, restConfig)
//	outcome, err := watcher.Run(ctx) // blocks until it has cascaded or ctx ends
package peerwatch
