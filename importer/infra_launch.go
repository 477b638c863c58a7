package importer

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// variable is one of a mapping of variables.
func variable(name string, at node) corev1.EnvVar {
	out := corev1.EnvVar{Name: name, Value: at.text()}
	if name == jobIDVariable && out.Value != runName {
		at.dropPart(out.Value, ownJobID)
		out.Value = runName
	}
	return out
}

// readLaunch takes the driver.
func (r *infraReader) readLaunch(launch node) {
	driver := &r.run.Spec.Driver
	if r.cluster(roles[0]) != nil {
		driver.Cluster = roles[0]
	}
	text := launch.at("entrypoint").text()
	source, folder := launch.at("codeSource"), launch.at("codePath")
	switch {
	case text == "":
	case source.is("image"), source.is("lustre"):
		if path := folder.text(); path != "" && !strings.Contains(text, "cd "+path+"\n") {
			text = "cd " + quoteWord(path) + "\n" + text
		}
	default:
		source.drop(noUpload)
		r.need("spec.code", "nrl-k8s uploaded the working directory before it submitted; the Run takes the code from the image, a volume or a git commit")
	}
	if text != "" {
		driver.Command = r.command(launch.at("entrypoint"), text)
	}
	for _, name := range launch.at("env").keys() {
		driver.Env = append(driver.Env, variable(name, launch.at("env", name)))
	}
	launch.at("env").take()
	launch.at("rayUploadPaths").drop(noUpload)
	launch.at("runMode").drop("`tandem up` returns at once, and `tandem up --wait` follows the run to its end")
	launch.at("mode").drop(deadConfig)
	launch.at("attach").drop(deadConfig)
	launch.at("peerWatcher").drop(deadConfig + "; tandem watches by failure.onPeerFailure")
}

// deadConfig is the reason for what nrl-k8s checks and then does nothing with.
const deadConfig = "nrl-k8s reads this field and does nothing with it"

func (r *infraReader) dropDead() {
	for _, key := range []string{"placement", "networking", "workspace", "hf_cache", "checkpoints", "resources"} {
		r.root.at(key).drop(deadConfig)
	}
	r.root.at("submit").drop("tandem submits from a pod of the run, over the network of the cluster")
	r.root.at("annotations").drop("only pods have labels and annotations of the user's (podTemplate.metadata)")
	if defaults := r.root.at("defaults"); defaults.there {
		defaults.drop("the file is read without those that it builds on")
		r.need("", "defaults of the infra file: what it takes from other files is not in the Run; `nrl-k8s check -o` writes a file with all of it")
	}
}

// readDeployments: they are not Ray, and live beside the run.
func (r *infraReader) readDeployments(deployments node) {
	for _, key := range deployments.keys() {
		r.need("", "Deployment %v and its Service: %s", deployments.at(key, "name").value, beside)
	}
	deployments.drop(beside)
}

// knowMade knows the claims that nrl-k8s makes for a cluster.
func (r *infraReader) knowMade(cluster, role string) {
	if r.made == nil {
		r.made = map[string]v1alpha1.Claim{}
	}
	r.made["compute-domain-"+cluster+"-"+role] = v1alpha1.Claim{ComputeDomain: &v1alpha1.ComputeDomain{}}
	r.made["roce-"+cluster+"-"+role] = v1alpha1.Claim{Devices: &v1alpha1.DeviceClaim{DeviceClass: roceClass, Count: roceCount}}
}

// useMade gives claims that nrl-k8s knows by name the templates that it makes, in place of those that are named.
func (r *infraReader) useMade(d *draft, cluster string) {
	prefixes := map[string]string{computeDomainClaim: "compute-domain-", roceClaim: "roce-"}
	for _, p := range r.parts {
		for i := range p.claims {
			use := &p.claims[i]
			if prefix, known := prefixes[use.name]; known && p.cluster == d.Name {
				use.source.at("resourceClaimTemplateName").dropPart(use.template, "nrl-k8s puts the name of a template in its place that it makes for the cluster, and so does tandem")
				use.template = prefix + cluster + "-" + d.Name
			}
		}
	}
}
