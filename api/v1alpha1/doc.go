// Package v1alpha1 is the Run file: what one disaggregated training run consists of.
//
// It promises that
//   - [Load] accepts exactly the documented fields and reports every problem of a file at once, each with its path, its line
//     and a way out;
//   - a Run that Load returned renders: names fit the budgets of JobSet, KubeRay and Kubernetes, references resolve, ports do not
//     collide;
//   - the names and labels of everything a run makes are decided here and nowhere else (labels.go, names.go).
//
// It does not talk to a cluster, and it does not check what only a cluster knows (that the queue, the image or the GPUs exist).
//
//	run, err := v1alpha1.Load(data)
//	var invalid *v1alpha1.InvalidError
//	if errors.As(err, &invalid) {
//		for _, p := range invalid.Problems { fmt.Println(p) }
//	}
package v1alpha1
