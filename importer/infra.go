package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Names of claims that nrl-k8s makes by itself, and what it makes.
const (
	computeDomainClaim = "compute-domain-channel"
	roceClaim          = "roce-channel"
	roceClass          = "roce.networking.k8s.aws"
	roceCount          = 8
)

// ownerLabel says whose the objects of nrl-k8s are.
const ownerLabel = "nrl-k8s/owner"

// roles of an infra file. They become clusters of the same names.
var roles = []string{"training", "generation", "gym"}

// infraReader reads a file after its references are resolved.
type infraReader struct {
	*maker
	root  node
	image place
}

func (m *maker) readInfra(o *object) error {
	value, err := interpolate(o.root, m.options.User)
	if err != nil {
		return err
	}
	o.ledger = newLedger(o.object, value)
	readAnchors(o)
	root := o.node()
	if inner := root.at("infra"); inner.there {
		root = inner
	}
	r := &infraReader{maker: m, root: root, image: placeOf(root.at("image"))}
	m.run.Spec.Backend = v1alpha1.BackendRayCluster
	r.readRun()
	r.readRoles()
	if len(r.clusters) == 0 {
		return fmt.Errorf("%s: kuberay has none of %s, so there is no Ray cluster to import", o.object, strings.Join(roles, ", "))
	}
	r.readLaunch(root.at("launch"))
	r.readDeployments(root.at("deployments"))
	r.dropDead()
	return nil
}

// readAnchors marks what stands under keys that begin with _, from where it is taken by anchors. What no anchor takes is dropped.
func readAnchors(o *object) {
	taken := map[*yaml.Node]bool{}
	findAliases(o.raw, taken)
	for i := 0; i+1 < len(o.raw.Content); i += 2 {
		if key := o.raw.Content[i].Value; strings.HasPrefix(key, "_") {
			readAnchored(o.node().at(key), o.raw.Content[i+1], taken)
			o.node().at(key).drop("nrl-k8s leaves out keys that begin with _, and no anchor takes this from there")
		}
	}
}

func findAliases(n *yaml.Node, taken map[*yaml.Node]bool) {
	if n.Kind == yaml.AliasNode {
		taken[n.Alias] = true
	}
	for _, child := range n.Content {
		findAliases(child, taken)
	}
}

func readAnchored(at node, raw *yaml.Node, taken map[*yaml.Node]bool) {
	if taken[raw] {
		at.take()
		return
	}
	for i, child := range raw.Content {
		switch {
		case raw.Kind == yaml.SequenceNode && i < len(at.items()):
			readAnchored(at.items()[i], child, taken)
		case raw.Kind == yaml.MappingNode && i%2 == 1:
			readAnchored(at.at(raw.Content[i-1].Value), child, taken)
		}
	}
}

// readRun takes what is of the whole run.
func (r *infraReader) readRun() {
	spec := &r.run.Spec
	if namespace := r.root.at("namespace"); namespace.there {
		r.readNamespace(namespace)
	}
	spec.ImagePullSecrets = r.root.at("imagePullSecrets").words()
	r.readRayVersion(r.root.at("rayVersion"))
	r.root.at("serviceAccount").drop(ownAccount)
	spec.User = r.root.at("labels", ownerLabel).text()
	r.readObjectLabels(r.root.at("labels"))
	r.readScheduler(r.root.at("scheduler"))
	r.run.Metadata.Name = r.options.Name
}

func (r *infraReader) readScheduler(scheduler node) {
	for _, known := range []v1alpha1.Scheduler{v1alpha1.SchedulerKAI, v1alpha1.SchedulerKueue, v1alpha1.SchedulerDefault} {
		if scheduler.at("kind").is(known) {
			r.run.Spec.Scheduling.Scheduler = known
		}
	}
	scheduler.at("kind").drop("the Run file knows the schedulers default, kai, kueue and workload")
	if queue := scheduler.at("queue"); queue.there {
		r.queues = append(r.queues, placeOf(queue))
	}
}

// readRoles makes a cluster of each role.
func (r *infraReader) readRoles() {
	var present, names []string
	for _, role := range roles {
		if at := r.root.at("kuberay", role); at.there {
			present, names = append(present, role), append(names, at.at("name").text())
			at.at("name").dropPart(at.at("name").text(), ownName)
		}
	}
	if r.run.Metadata.Name == "" {
		r.run.Metadata.Name = infraName(present, names)
	}
	for i, role := range present {
		r.readRole(r.addCluster(role), r.root.at("kuberay", role), names[i])
	}
}

// infraName is what the clusters' names have in common, without the role.
func infraName(present, names []string) string {
	if len(names) == 0 {
		return ""
	}
	if prefix, clusters := splitNames(names); len(names) > 1 && len(clusters) > 0 && prefix != names[0] {
		return prefix
	}
	return strings.TrimSuffix(names[0], "-"+present[0])
}

func (r *infraReader) readRole(d *draft, role node, name string) {
	r.knowMade(name, d.Name)
	r.readObjectLabels(role.at("labels"))
	r.readCluster(d, role.at("spec"), func(d *draft, p *part, container node) {
		r.setImage(p, container)
		r.readRayContainer(d, p, container)
	})
	r.useMade(d, name)
	r.labelPods(d, role.at("labels"))
	r.readSegments(d, role.at("segmentSize"))
	r.readDaemon(d, role.at("daemon"))
	r.rename(name+"-head-svc", v1alpha1.RayClusterName(r.run.Metadata.Name, d.Name)+"-head-svc")
	role.at("annotations", overwriteCommand).drop(ownCommand)
	role.at("annotations").drop("only pods have labels and annotations of the user's (podTemplate.metadata)")
}

// setImage: nrl-k8s puts its image into every container.
func (r *infraReader) setImage(p *part, container node) {
	if r.image.value != "" {
		container.at("image").drop("nrl-k8s puts the image of the file in its place")
		p.fallback = r.image
	}
}

// labelPods gives all pods the labels of the role and of the file, unless they have others of the name.
func (r *infraReader) labelPods(d *draft, labels node) {
	for _, from := range []node{labels, r.root.at("labels")} {
		for _, key := range from.keys() {
			if key == ownerLabel || key == v1alpha1.LabelManagedBy || slices.Contains(schedulerLabels, key) {
				continue
			}
			if value := from.at(key).text(); !r.labelPodsOf(d, key, value) {
				from.at(key).dropPart(value, "the pods of cluster "+d.Name+" have another label of the name")
			}
		}
	}
}

func (r *infraReader) labelPodsOf(d *draft, key, value string) (some bool) {
	for _, p := range r.parts {
		if p.cluster == d.Name && !p.overlay.has("metadata", "labels", key) {
			p.overlay.set(value, "metadata", "labels", key)
			some = true
		}
	}
	return some
}

func (r *infraReader) readSegments(d *draft, size node) {
	if !size.there {
		return
	}
	number, split := size.number(0), false
	for _, w := range d.workers {
		if w.Pods() > number && number > 0 {
			w.SegmentSize, split = number, true
		}
	}
	if !split {
		size.dropPart(strconv.Itoa(int(number)), "no worker group has more pods than a segment")
	}
}

// readDaemon takes the server that runs on the head.
func (r *infraReader) readDaemon(d *draft, daemon node) {
	if !daemon.there {
		return
	}
	head := r.headOf(d)
	if entry := daemon.at("entrypoint"); entry.text() != "" {
		if len(d.Head.Command) > 0 {
			r.need("", "the head of cluster %s ran a command besides its daemon, which is not in the Run: %s", d.Name, strings.Join(d.Head.Command, " "))
		}
		d.Head.Command = r.command(entry, entry.text())
	}
	for _, name := range daemon.at("env").keys() {
		d.Head.Env = append(d.Head.Env, variable(name, daemon.at("env", name)))
	}
	r.readServer(d, head)
	daemon.at("submissionId").drop("the server runs beside Ray in the head, and not as a job")
	const checks = "the address of a server is published once it answers: publish.when"
	daemon.at("healthCheckUrl").drop(checks)
	daemon.at("healthCheckTimeoutS").drop(checks)
	daemon.at("rayUploadPaths").drop(noUpload)
}

// noUpload is the reason for what nrl-k8s would upload.
const noUpload = "tandem uploads nothing: code comes with the image, a volume or a git commit (spec.code)"

func (r *infraReader) headOf(d *draft) *part {
	for _, p := range r.parts {
		if p.cluster == d.Name && p.isHead() {
			return p
		}
	}
	return nil
}
