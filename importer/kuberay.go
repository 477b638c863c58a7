package importer

import (
	"slices"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// readKubeRay makes one run of a RayJob and of RayClusters.
func (m *maker) readKubeRay(rayJobs, rayClusters []*object) error {
	m.run.Spec.Backend = v1alpha1.BackendRayCluster
	var names []string
	for _, o := range rayClusters {
		names = append(names, o.name)
	}
	run, clusters := splitNames(names)
	for _, o := range rayJobs {
		m.run.Spec.Backend = v1alpha1.BackendRayJob
		run, clusters = o.name, append([]string{freeName(clusters)}, clusters...)
	}
	m.run.Metadata.Name = either(m.options.Name, run)
	for i, o := range append(slices.Clone(rayJobs), rayClusters...) {
		d := m.addCluster(clusters[i])
		root := o.node()
		root.at("kind").take()
		root.at("apiVersion").drop("tandem knows which version of KubeRay it renders")
		m.readObjectMetadata(root.at("metadata"))
		root.at("status").drop("what a controller writes is no part of a run")
		if o.kind == "RayJob" {
			m.readRayJob(d, root.at("spec"))
			continue
		}
		m.readCluster(d, root.at("spec"), m.readRayContainer)
		m.rename(o.name+"-head-svc", v1alpha1.RayClusterName(m.run.Metadata.Name, d.Name)+"-head-svc")
	}
	return nil
}

// splitNames makes the name of a run and of its clusters of those of RayClusters, which are called RUN-CLUSTER.
func splitNames(names []string) (run string, clusters []string) {
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], []string{anonymous}
	}
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndexByte(prefix, '-')+1]
	for _, name := range names {
		clusters = append(clusters, strings.TrimPrefix(name, prefix))
	}
	return either(strings.TrimSuffix(prefix, "-"), names[0]), clusters
}

// freeName is for the cluster of a RayJob, which has none.
func freeName(taken []string) string {
	if slices.Contains(taken, anonymous) {
		return "driver-" + anonymous
	}
	return anonymous
}

// readRayJob takes the driver, and the cluster that it runs on.
func (m *maker) readRayJob(d *draft, spec node) {
	run := &m.run.Spec
	run.Driver.Cluster = d.Name
	if entry := spec.at("entrypoint"); entry.text() != "" {
		run.Driver.Command = m.command(entry, entry.text())
	}
	spec.at("submissionMode").dropUnless("HTTPMode", "tandem submits over HTTP: KAI refuses K8sJobMode, whose submitter comes later than the gang")
	spec.at("shutdownAfterJobFinishes").dropUnless(true, "the clusters go when the driver has ended: ttlAfterFinished says when")
	m.readLifetime(spec.at("ttlSecondsAfterFinished"))
	run.Driver.Retries = spec.at("backoffLimit").number(0)
	if deadline := spec.at("preRunningDeadlineSeconds"); deadline.there {
		run.Failure.StartupGrace = *seconds(deadline)
	}
	if limit := spec.at("activeDeadlineSeconds"); limit.there {
		run.Driver.ActiveDeadline = seconds(limit)
	}
	spec.at("jobId").drop("the job is called after the run")
	spec.at("suspend").drop("a run starts when it is applied")
	for _, lost := range []string{"runtimeEnvYAML", "clusterSelector", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources"} {
		if spec.at(lost).there {
			m.need("spec.driver", "%s of the RayJob has no field in the Run", lost)
		}
	}
	m.readCluster(d, spec.at("rayClusterSpec"), m.readRayContainer)
}

// readCluster takes the spec of a RayCluster.
func (m *maker) readCluster(d *draft, spec node, command func(*draft, *part, node)) {
	m.readRayVersion(spec.at("rayVersion"))
	autoscales := spec.at("enableInTreeAutoscaling")
	isAutoscaling := autoscales.is(true)
	autoscales.dropUnless(false, ownAutoscaler)
	d.Autoscaler = readAutoscaler(spec.at("autoscalerOptions"), isAutoscaling)
	spec.at("suspend").drop("a run starts when it is applied")
	head := spec.at("headGroupSpec")
	p := m.addHead(d)
	m.readRayGroup(d, p, head, command)
	head.at("serviceType").dropUnless("ClusterIP", "the head is for the pods of the run; reach it by kubectl port-forward")
	spec.at("workerGroupSpecs").is([]any{}) // a cluster may have none
	for _, group := range spec.at("workerGroupSpecs").items() {
		p, w := m.addWorkers(d, group.at("groupName").text())
		readReplicas(w, group, isAutoscaling)
		m.readRayGroup(d, p, group, command)
	}
}

func (m *maker) readRayVersion(version node) {
	name := version.text()
	have := &m.run.Spec.RayVersion
	switch {
	case name == "" || name == *have:
	case *have != "":
		version.dropPart(name, "a run has one version of Ray, "+*have)
	default:
		*have = name
	}
}

// readRayGroup takes a head or worker group.
func (m *maker) readRayGroup(d *draft, p *part, group node, command func(*draft, *part, node)) {
	flags := paramFlags(group.at("rayStartParams"))
	m.readPod(p, group.at("template"), func(container node) {
		m.readFlags(&d.Cluster, p, flags)
		command(d, p, container)
		readRayPorts(&d.Cluster, p, container.at("ports"))
	})
}

// readReplicas takes how many pods there are. KubeRay counts replicas of numOfHosts pods, and wants the bounds spelt out.
func readReplicas(w *v1alpha1.WorkerGroup, group node, autoscales bool) {
	const fixed = "the group is of fixed size: the cluster has no autoscaler (enableInTreeAutoscaling)"
	hosts := group.at("numOfHosts").number(1)
	replicas := group.at("replicas").number(1)
	if autoscales {
		w.MinReplicas = new(group.at("minReplicas").number(0) * hosts)
		w.MaxReplicas = new(group.at("maxReplicas").number(replicas) * hosts)
	}
	group.at("minReplicas").dropUnless(replicas, fixed)
	group.at("maxReplicas").dropUnless(replicas, fixed)
	if autoscales {
		w.Replicas = new(replicas * hosts)
	} else {
		readNumber(w, replicas*hosts)
	}
	if hosts > 1 {
		w.SegmentSize = hosts
		group.at("numOfHosts").dropPart("replicas of several pods", "the group has as many pods, and each replica is a segment (segmentSize)")
	}
}

// readRayContainer takes what a container of KubeRay runs before or around `ray start`.
func (m *maker) readRayContainer(d *draft, p *part, container node) {
	if !container.at("command").there && !container.at("args").there {
		return
	}
	text := containerScript(container)
	start := parseRayStart(text)
	takeCommand(container)
	if start == nil {
		// KubeRay puts its own `ray start` behind a command that has none.
		start = &rayStart{setup: text}
	}
	m.readFlags(&d.Cluster, p, scriptFlags(start, commandPlace(container)))
	m.readStart(d, p, container, start)
}

// readAutoscaler takes how Ray's autoscaler behaves, where there is one.
func readAutoscaler(options node, autoscales bool) *v1alpha1.Autoscaler {
	if !autoscales {
		options.drop("the cluster has no autoscaler (enableInTreeAutoscaling)")
		return nil
	}
	out := &v1alpha1.Autoscaler{Version: options.at("version").text(), UpscalingMode: options.at("upscalingMode").text()}
	if idle := options.at("idleTimeoutSeconds"); idle.there {
		out.IdleTimeout = seconds(idle)
	}
	if *out == (v1alpha1.Autoscaler{}) {
		return nil
	}
	return out
}
