// Package importer turns what runs today into a Run file: JobSet, RayCluster and RayJob manifests, and the infra files of nrl-k8s.
//
// It promises that
//   - the Run that comes out loads: what it lacks has a placeholder, which [Result.Needs] names;
//   - nothing is lost in silence: a value of the input is in the Run, or is what tandem does anyway, or is in [Result.Dropped] with its
//     path and the reason;
//   - what the Run has no field for is kept in a podTemplate overlay, if it is a part of a pod.
//
// The accounts are kept by the ledger (ledger.go): every value that is read is marked, and what is unmarked at the end is dropped.
//
// It talks to no cluster, runs no command of the input, and does not know what a script does beyond how it starts Ray, waits for it and
// submits a job to it.
//
//	result, err := importer.Import(files, importer.Options{User: "researcher"})
//	os.Stdout.Write(result.YAML)
package importer
