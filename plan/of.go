package plan

import (
	"errors"
	"fmt"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// Of plans a run without a cluster. What the scheduler would not start is among the findings; the error is a Run that cannot be rendered.
func Of(run *v1alpha1.Run) (*Plan, error) {
	objects, err := manifests.Render(run)
	if err != nil && !(errors.Is(err, schedule.ErrRefused) && len(objects) > 0) {
		return nil, err
	}
	p := &Plan{
		Run: run.Metadata.Name, Namespace: run.Metadata.Namespace,
		Backend: run.Spec.Backend, Scheduler: run.Spec.Scheduling.Scheduler, Queue: run.Spec.Scheduling.Queue,
		Gangs: []Gang{}, Accounts: []Account{}, Needs: []Reference{}, Findings: []Finding{}, // in JSON none is [], not null
		run: run, objects: objects,
	}
	for _, object := range objects {
		p.Objects = append(p.Objects, Object{object.GetAPIVersion(), object.GetKind(), object.GetName()})
		crews, err := crewsOf(object)
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		p.crews = append(p.crews, crews...)
	}
	p.count()
	p.Heads = heads(run)
	p.Needs = p.references()
	if err := p.readAccounts(); err != nil {
		return nil, err
	}
	if err := p.readGangs(); err != nil {
		return nil, err
	}
	p.Unasked("nobody asked")
	return p, nil
}

// count sums crews up to groups and totals.
func (p *Plan) count() {
	p.Total = Resources{}
	at := map[string]int{}
	for i := range p.crews {
		c := &p.crews[i]
		c.each = requestsOf(c.template.Spec)
		c.level = p.levelOf(c)
		p.Pods += c.pods
		p.Total.add(c.each, int64(c.pods))
		if j, known := at[c.name()]; known {
			p.Groups[j].Pods += c.pods
			p.Groups[j].Most += c.most
			p.Groups[j].Segments = max(2, p.Groups[j].Segments+1)
			continue
		}
		at[c.name()] = len(p.Groups)
		p.Groups = append(p.Groups, Group{
			Cluster: c.cluster, Name: c.group, Pods: c.pods, Most: c.most, Within: c.level, Each: c.each, Ports: portsOf(c.template.Spec),
		})
	}
}

// levelOf is the topology level that the scheduler keeps the crew within.
func (p *Plan) levelOf(c *crew) string {
	topology := p.run.Spec.Scheduling.Topology
	if topology == nil || c.each[v1alpha1.ResourceGPU] == 0 || c.group == v1alpha1.GroupHead {
		return ""
	}
	return topology.Required
}

// heads are the addresses of the clusters.
func heads(run *v1alpha1.Run) []Head {
	var out []Head
	for i := range run.Spec.Clusters {
		cluster := &run.Spec.Clusters[i]
		head := Head{Cluster: cluster.Name, Host: run.HeadHost(cluster.Name), Ports: map[string]int32{
			v1alpha1.PortNameGCS: cluster.Ports.GCS, v1alpha1.PortNameDash: cluster.Ports.Dashboard, v1alpha1.PortNameClient: cluster.Ports.Client,
		}}
		for name, port := range cluster.Head.Ports {
			head.Ports[name] = port
		}
		out = append(out, head)
	}
	return out
}
