// Package launch brings runs to a cluster, follows them, and removes them.
//
// It promises that
//   - [Launcher.Up] applies exactly the objects that package manifests renders, after the server has accepted all of them in a dry run,
//     and refuses to touch a run that has ended, is being removed, or is not the one that the file describes;
//   - a RayJob is created suspended and owns the rest of its run; it starts when what it needs is there. What manifests renders is the
//     RayJob as it is then. An Up that is interrupted, or killed, leaves nothing that runs for ever, and the next one goes on with it;
//   - [Launcher.Status] reads levels (conditions, pods, the registry ConfigMap) and says why a run failed;
//   - [Launcher.Wait] follows by watches that survive being closed, and decides on a fresh read;
//   - [Launcher.Down] returns when every object and pod of the run is gone, and says what it removed: devices after the pods that use them. It first marks the run as
//     being removed, so that nobody takes what is missing for a failure.
//
// Results are data; printing is the caller's. It writes no files and knows no YAML. It does not restart anything, and a run whose
// objects somebody else changes is not repaired.
//
//	launcher, err := launch.New(restConfig)
//	changes, err := launcher.Up(ctx, run)
//	status, err := launcher.Wait(ctx, namespace, name, func(line string) { fmt.Println(line) })
//	removal, err := launcher.Down(ctx, namespace, name, func(line string) { fmt.Println(line) })
package launch
