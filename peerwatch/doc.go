// Package peerwatch takes a run down whole when a part of it fails or when it has finished, or starts it again as a
// whole, so that no GPU is held by half a run.
//
// One watcher runs beside the Ray head of each cluster. It watches the run's clusters (RayClusters, or other kinds, see
// [PeerKind]) and their pods, the driver and the registry's ConfigMap, decides from their levels ([Decide] is a pure
// function; its tests are the specification, and docs/peerwatch.md shows them), looks again at everything before it
// acts, and cascades: it reports the reason to the registry, emits Events, keeps a [PostMortem], deletes the peers, then
// the driver, and its own cluster last.
//
// It promises: an API server that does not answer, or refuses, is never evidence against a peer; a run that finished
// well is never reported as failed, nor is one that `tandem down` removes; the first reported reason stays; what is only
// told to people does not hold a cascade up for more than two seconds; any number of watchers may act at once, and count
// one restart; a watcher that is started again finishes what was left; one whose pod is ended tells the peers; no
// deadline moves with the wall clock.
//
// It does not act on its own cluster's deletion, since that is what its peers see; does not restart what cannot be
// started again by deleting its pods; and does not know what a pod that still ends does to the registry.
//
// Files: kinds, reading and pod turn objects into levels, fold brings levels into an [Observation], decide, judge,
// follow, restart and testament judge it; observe, watcher, cascade and the rest are the shell around that.
//
//	watcher, err := peerwatch.New(peerwatch.Config{
//		Run: "qwen3", Namespace: "train", Policy: peerwatch.DefaultPolicy(),
//		Self:   peerwatch.Ref{Kind: peerwatch.RayCluster, Name: "qwen3-rl"},
//		Peers:  []peerwatch.Ref{{Kind: peerwatch.RayCluster, Name: "qwen3-gym"}},
//		Driver: peerwatch.Ref{Kind: peerwatch.Job, Name: "qwen3-driver"},
//	}, restConfig)
//	outcome, err := watcher.Run(ctx) // blocks until it has cascaded or ctx ends
package peerwatch
