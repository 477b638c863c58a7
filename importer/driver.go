package importer

import (
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// placeholderCommand stands where no file says what to train.
var placeholderCommand = []string{"REPLACE-ME", "the", "command", "that", "trains"}

// readDriver takes the pod that submits the driver.
func (r *jobSetReader) readDriver(job *replicatedJob) {
	if r.driver != nil {
		job.drop("a run has one driver, " + r.driver.name)
		r.need("spec.driver", "replicatedJob %s of %s is a second driver: it is no part of the Run", job.name, r.object.object)
		return
	}
	r.driver = job
	d := r.driversCluster(job)
	p := r.addDriver(d.Name)
	if pods := job.readJob(); pods != 1 {
		job.wrongf("a run has one driver, not %d", pods)
	}
	if limit := job.at("template", "spec", "activeDeadlineSeconds"); limit.there {
		r.run.Spec.Driver.ActiveDeadline = seconds(limit)
	}
	r.readPod(p, job.template, func(container node) {
		takeCommand(container)
		r.readSubmission(job, container)
		r.dropAddress(d, &part{name: v1alpha1.GroupDriver}, container)
	})
}

// driversCluster is the one whose dashboard the job is submitted to.
func (r *jobSetReader) driversCluster(job *replicatedJob) *draft {
	if job.submission != nil {
		host, _, _ := net.SplitHostPort(job.submission.address)
		for _, d := range r.clusters {
			if r.host(r.heads[d.Name].name) == host {
				return d
			}
		}
	}
	return r.mainCluster()
}

// mainCluster is the first that has GPUs, since that is where training is.
func (m *maker) mainCluster() *draft {
	for _, d := range m.clusters {
		if d.Head.GPUs > 0 || slices.ContainsFunc(d.workers, func(w *v1alpha1.WorkerGroup) bool { return w.GPUs > 0 }) {
			return d
		}
	}
	return m.clusters[0]
}

func (r *jobSetReader) readSubmission(job *replicatedJob, container node) {
	at := commandPlace(container)
	if job.submission == nil {
		r.run.Spec.Driver.Command = r.jobID(at, slices.Concat(peek(container.at("command")), peek(container.at("args"))))
		r.need("spec.driver.command", "%s of the JobSet ran in a pod of its own; as the driver it runs in the head of cluster %s", job.name, r.run.Spec.Driver.Cluster)
		return
	}
	r.run.Spec.Driver.Command = r.jobID(at, job.submission.command)
	dashboard := strconv.Itoa(int(either(r.cluster(r.run.Spec.Driver.Cluster).Ports.Dashboard, v1alpha1.DefaultDashPort)))
	if _, port, _ := net.SplitHostPort(job.submission.address); port != "" && port != dashboard {
		at.dropPart("--address=http://"+job.submission.address, "the dashboard of the head listens on "+dashboard)
	}
	for _, option := range job.submission.options {
		at.dropPart(option, "tandem submits the job under the run's name and follows it to its end")
		if !strings.HasPrefix(option, "--submission-id") && !slices.Contains(bareOptions, option) {
			r.need("spec.driver", "%s of `ray job submit` has no field in the Run", option)
		}
	}
	for _, statement := range job.submission.others {
		at.dropPart(statement, "the pod of the driver only submits")
		r.need("spec.driver.command", "the driver's pod of the JobSet also ran: %s", statement)
	}
}

// settleDriver gives the driver's process what the driver's pod had.
func (m *maker) settleDriver() {
	driver := &m.run.Spec.Driver
	if driver.Cluster == "" {
		driver.Cluster = m.mainCluster().Name
	}
	if len(driver.Command) == 0 {
		driver.Command = placeholderCommand
		m.need("spec.driver.command", "no file says what to train: put the command here whose exit ends the run")
	}
	for _, p := range m.parts {
		if !p.isDriver() {
			continue
		}
		driver.Resources, driver.Limits = p.group.Resources, p.group.Limits
		for _, variable := range p.group.Env {
			m.addDriverVariable(variable)
		}
		head := &m.cluster(driver.Cluster).Head
		for _, source := range p.group.EnvFrom {
			if !slices.ContainsFunc(head.EnvFrom, func(other corev1.EnvFromSource) bool { return reflect.DeepEqual(other, source) }) {
				head.EnvFrom = append(head.EnvFrom, source)
			}
		}
	}
}

// addDriverVariable: a value from elsewhere cannot be in the job's command line, so the head gets it, in which the driver runs.
func (m *maker) addDriverVariable(variable corev1.EnvVar) {
	driver := &m.run.Spec.Driver
	if variable.ValueFrom == nil {
		driver.Env = append(driver.Env, variable)
		return
	}
	head := &m.cluster(driver.Cluster).Head
	if !slices.ContainsFunc(head.Env, func(other corev1.EnvVar) bool { return other.Name == variable.Name }) {
		head.Env = append(head.Env, variable)
	}
}
