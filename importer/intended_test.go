package importer

// intended are the differences that a round trip may have: a pattern of a line of the list, and why. The first that fits counts.
var intended = []struct{ pattern, reason string }{
	{`^[+] (ServiceAccount|Role|RoleBinding)/`, "Each run has accounts of its own, whose rights are on the run's own objects."},
	{`serviceAccountName: `, "Each run has accounts of its own, whose rights are on the run's own objects."},
	{`automountServiceAccountToken: false$`, "No container of the user gets a token of the API server; sidecars mount theirs."},
	{`^[+] .*volumes\[tandem-token\]`, "No container of the user gets a token of the API server; sidecars mount theirs."},
	{`enableServiceLinks: false$`, "The variables of other services of the namespace are not the run's."},
	{`^[+] ConfigMap/`, "The endpoint registry is there before the pods are, and belongs to the run."},
	{`^- .*env\[RAY_CLUSTER_NAME\]`, "The endpoint registry is there before the pods are, and belongs to the run."},
	{`^[+] .*initContainers\[registry\]`, "A sidecar serves the endpoint registry to the pod, and publishes what the pod offers once it answers."},
	{`^[+] .*initContainers\[peerwatch\]`, "A sidecar watches the other clusters and the driver, in the place of the inline program that mistakes API errors for death (P1 to P13)."},
	{`^- .*containers\[peer-watcher\]`, "A sidecar watches the other clusters and the driver, in the place of the inline program that mistakes API errors for death (P1 to P13)."},
	{`^[+] PodGroup/`, "All clusters of a run start together or not at all: one PodGroup (J10)."},
	{`^[+] .*(skip-podgrouper|pod-group-name|subgroup-name)`, "All clusters of a run start together or not at all: one PodGroup (J10)."},
	{`^- .*annotations\[kai.scheduler/topology`, "The PodGroup has the topology constraint of each group."},
	{`^[+] Job/`, "The driver is part of the run, in a Job: its exit code ends the run."},

	{`metadata.labels\[(tandem.dev/|app.kubernetes.io/managed-by)`, "Every object and pod says which run it belongs to, and which part of it."},
	{`^[+] .*metadata.labels\[kai.scheduler/queue\]`, "The queue is on every object and pod: KAI reads it from both."},
	{`^- .*metadata.labels\[nrl-k8s/owner\]`, "The owner of a run is in the label tandem.dev/owner (spec.user)."},
	{`^- \w+/\S+ metadata.labels\[`, "Only pods keep labels of the user's."},
	{`^[+] .*metadata.namespace: `, "Objects are rendered for one namespace."},
	{`^~ \w+/\S+ metadata.name: `, "Objects are called after the run and the cluster."},
	{`resourceClaimTemplateName: |channel.resourceClaimTemplate.name: `, "Objects are called after the run and the cluster."},
	{`^. ResourceClaimTemplate/\S+ spec.spec.devices.requests\[`, "The request of a claim is called as the claim."},

	{`^. JobSet/\S+ spec.failurePolicy.rules`, "There is a rule for each group: its name is what JobSet's events report."},
	{`completionMode: Indexed|podFailurePolicy|restartPolicy: Never`, "A pod that fails or is evicted fails its Job, once, and its logs stay (J1, J2)."},
	{`^- .*initContainers\[wait-for-(rl|gym)-head\]`, "Waits for the head have a deadline (J4)."},
	{`^[+] .*initContainers\[wait-for-(head|dashboard)\]`, "Waits for the head have a deadline (J4)."},
	{`^[+] RayJob/\S+ spec.backoffLimit: 0`, "What KubeRay does by default is spelt out."},
	{`^[+] \S+ \S*enableInTreeAutoscaling: false`, "What KubeRay does by default is spelt out."},
	{`^- .*numOfHosts: 1|^- .*dnsPolicy: ClusterFirst|^[+] .*protocol: TCP`, "It is the default of Kubernetes or KubeRay, on one side only."},

	{`(readiness|liveness)Probe`, "Probes ask Ray over HTTP, the same way on every backend, without a Python each time."},
	{`containers\[main\].was: `, "The container that runs Ray is called ray."},
	{`env\[(TANDEM_\w+|POD_IP|POD_NAME|RAY_ADDRESS)\]`, "Every container knows its run, its pod and its Ray cluster."},
	{`^[+] .*ports\[(metrics|client)\]`, "All of Ray's ports are declared under the names by which KubeRay looks for them."},

	{`rayStartParams.(dashboard-|metrics-export-port|port|ray-client-server-port|no-monitor)`, "Ports are fixed and spelt out; there is no autoscaler in a cluster of fixed size (J9)."},
	{`rayStartParams.num-gpus: 0`, "Ray does not count GPUs of the node that the pod does not have."},
	{`^- .*annotations\[ray.io/overwrite-container-cmd\]`, "KubeRay leaves the command alone; the annotation is where KubeRay reads it, on the pods."},
	{`^[+] .*annotations\[ray.io/overwrite-container-cmd\]`, "KubeRay leaves the command alone; the annotation is where KubeRay reads it, on the pods."},

	{`^~ RayJob/\S+ spec.entrypoint: `, "The shell of the job becomes the command, so that the exit code is the command's."},
	{`^[+] .*program(\.|\[)(tandem-start|52365|1200|5|10|11|--head|--no-monitor|--(address|port|num-gpus|num-cpus|object-store-memory|dashboard-\S+|metrics-export-port|ray-client-server-port)=)`, startReason},
	{`^[-~] .*program(\.|\[)(ulimit|-n|65536;?|ray|start|--block|--address=|/bin/bash|-c|-lc|--:|\$KUBERAY_GEN_RAY_START_CMD|eval)`, startReason},
	{`^- .*program\[(HEAD|GYM_HEAD)=`, startReason},
	{`program\[(--resources='|ray_args)`, "What the topology probe finds out goes to Ray's arguments in setup."},
	{`^[-+] .*program(\.|\[)(tandem-submit|disagg-job-rl-head-0-0.disagg-job:8265|disagg-job|0|job|submit|bash|--address|http://|--submission-id|SUBMISSION_ID|\$\{SUBMISSION_ID\}|\+%s\))`, submitReason},
	{`^[-+] .*program(\.|\[)(set|-eo|-o|\{|\})`, "A pipe into tee keeps the exit code (G7)."},
	{`^[+] .*program(\.|\[)(mkdir|-p|/workspace/nemo-rl/outputs|\|\||exit)`, "The folder of the log is made: without it tee fails when all is done (J5)."},
	{`program\[(\+env\.disagg_job_id=|\$\(TANDEM_RUN\))`, "The job id is the run's name, in one place (J7)."},
}

const (
	startReason  = "Ray is started by a script that watches it and the group's command, with every flag spelt out (J6)."
	submitReason = "The driver is submitted by a script that reconnects, and ends with the exit code of the driver (J5)."
)
