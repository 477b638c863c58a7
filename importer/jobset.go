package importer

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// replicatedJob is one of a JobSet, with what its pods run.
type replicatedJob struct {
	node
	name       string
	template   node // of its pods
	container  node // the first of a pod
	start      *rayStart
	submission *submission
	address    string // of the head that a worker joins
}

func newReplicatedJob(n node) *replicatedJob {
	j := &replicatedJob{node: n, template: n.at("template", "spec", "template")}
	j.name, _ = n.at("name").value.(string)
	if containers := j.template.at("spec", "containers").items(); len(containers) > 0 {
		j.container = containers[0]
		text := containerScript(j.container)
		j.start, j.submission = parseRayStart(text), parseSubmission(text)
	}
	if j.start != nil {
		j.address = j.start.flags["address"]
	}
	return j
}

func (j *replicatedJob) isHead() bool { return j.start != nil && j.start.flags["head"] != "" }

// isDriver: it submits a job, or is called so and starts no Ray.
func (j *replicatedJob) isDriver() bool {
	return j.start == nil && (j.submission != nil || j.name == v1alpha1.GroupDriver)
}

// jobSetReader holds what of a JobSet depends on each other.
type jobSetReader struct {
	*maker
	object *object
	root   node
	heads  map[string]*replicatedJob // by cluster
	driver *replicatedJob
}

func (m *maker) readJobSet(o *object) error {
	r := &jobSetReader{maker: m, object: o, root: o.node(), heads: map[string]*replicatedJob{}}
	m.run.Spec.Backend = v1alpha1.BackendJobSet
	m.run.Metadata.Name = either(m.options.Name, o.name)
	r.root.at("kind").take()
	r.root.at("apiVersion").drop("tandem knows which version of JobSet it renders")
	m.readObjectMetadata(r.root.at("metadata"))
	if err := r.readJobs(); err != nil {
		return err
	}
	r.readPolicies()
	r.root.at("status").drop("what a controller writes is no part of a run")
	return nil
}

// readJobs reads the heads first, since workers and the driver refer to them, and the driver last, which may go where the GPUs are.
func (r *jobSetReader) readJobs() error {
	var jobs []*replicatedJob
	for _, item := range r.root.at("spec", "replicatedJobs").items() {
		job := newReplicatedJob(item)
		jobs = append(jobs, job)
		if job.isHead() {
			cluster := clusterOfHead(job.name)
			r.heads[cluster] = job
			r.addCluster(cluster)
			r.readHead(cluster, job)
		}
	}
	if len(r.heads) == 0 {
		return fmt.Errorf("%s: no replicatedJob runs `ray start --head`, so there is no Ray cluster to import", r.object.object)
	}
	for _, job := range jobs {
		if job.start != nil && !job.isHead() {
			r.readWorkers(job)
		}
	}
	for _, job := range jobs {
		switch {
		case job.start != nil:
		case job.isDriver():
			r.readDriver(job)
		default:
			job.drop("it neither starts Ray nor submits a job; a run consists of Ray clusters and a driver")
			r.need("", "replicatedJob %s of %s: it is no part of the Run; run it beside", job.name, r.object.object)
		}
	}
	return nil
}

func clusterOfHead(job string) string {
	if name := strings.TrimSuffix(job, "-"+v1alpha1.GroupHead); name != job {
		return name
	}
	if job == v1alpha1.GroupHead {
		return anonymous
	}
	return job
}

func (r *jobSetReader) readHead(cluster string, job *replicatedJob) {
	d := r.cluster(cluster)
	p := r.addHead(d)
	if pods := job.readJob(); pods != 1 {
		job.wrongf("a Ray cluster has one head, not %d", pods)
	}
	r.readGroup(d, p, job)
	r.rename(r.host(job.name), r.newHost(cluster, v1alpha1.GroupHead))
}

func (r *jobSetReader) readWorkers(job *replicatedJob) {
	cluster := r.clusterOf(job)
	name := strings.TrimPrefix(job.name, cluster+"-")
	p, w := r.addWorkers(r.cluster(cluster), name)
	readNumber(w, job.readJob())
	r.readGroup(r.cluster(cluster), p, job)
	r.rename(r.host(job.name), r.newHost(cluster, name))
}

// clusterOf is the cluster whose head a worker joins; where that is not known, the one that it is named after.
func (r *jobSetReader) clusterOf(job *replicatedJob) string {
	host, _, _ := net.SplitHostPort(job.address)
	first := ""
	for _, d := range r.clusters {
		if head := r.heads[d.Name]; head != nil && host == r.host(head.name) || strings.HasPrefix(job.name, d.Name+"-") {
			return d.Name
		}
		first = either(first, d.Name)
	}
	return first
}

// host is the DNS name of the first pod of a replicatedJob.
func (r *jobSetReader) host(job string) string {
	return fmt.Sprintf("%s-%s-0-0.%s", r.object.name, job, r.object.name)
}

func (r *jobSetReader) newHost(cluster, group string) string {
	name := v1alpha1.JobSetName(r.run.Metadata.Name)
	return fmt.Sprintf("%s-%s-0-0.%s", name, v1alpha1.ReplicatedJobName(cluster, group), name)
}

func (r *jobSetReader) readGroup(d *draft, p *part, job *replicatedJob) {
	r.readPod(p, job.template, func(container node) {
		takeCommand(container)
		r.readFlags(&d.Cluster, p, scriptFlags(job.start, commandPlace(container)))
		readRayPorts(&d.Cluster, p, container.at("ports"))
		r.readStart(d, p, container, job.start)
		r.dropAddress(d, p, container)
	})
}

// dropAddress drops the variable RAY_ADDRESS where tandem sets it to the same.
func (r *jobSetReader) dropAddress(d *draft, p *part, container node) {
	host := "127.0.0.1"
	if !p.isHead() {
		host = r.host(r.heads[d.Name].name)
	}
	port := strconv.Itoa(int(either(d.Ports.GCS, v1alpha1.DefaultGCSPort)))
	dropVariable(container, "RAY_ADDRESS", net.JoinHostPort(host, port))
}

// readJob takes what says how many pods there are, and how often they run.
func (j *replicatedJob) readJob() int32 {
	const indexed = "tandem runs each pod of a group once, and a pod that fails fails the run"
	j.at("name").drop(ownName)
	replicas := j.at("replicas").number(1)
	j.at("dependsOn").drop("all pods start at once, as a gang must; those that need a head wait for it")
	spec := j.at("template", "spec")
	parallelism := spec.at("parallelism").number(1)
	spec.at("completions").dropUnless(parallelism, indexed)
	spec.at("completionMode").dropUnless("Indexed", indexed)
	spec.at("backoffLimit").dropUnless(0, indexed)
	spec.at("podFailurePolicy").drop(indexed)
	spec.at("ttlSecondsAfterFinished").drop("the run has one lifetime after its end: ttlAfterFinished")
	j.at("template", "metadata").drop(ownMetadata)
	return replicas * parallelism
}
