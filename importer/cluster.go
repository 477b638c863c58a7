package importer

import (
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// draft is a cluster of the Run in the making.
type draft struct {
	v1alpha1.Cluster
	workers []*v1alpha1.WorkerGroup
}

// anonymous is the cluster of files that have but one, and no name for it.
const anonymous = "ray"

func (m *maker) addCluster(name string) *draft {
	d := &draft{Cluster: v1alpha1.Cluster{Name: name}}
	m.clusters = append(m.clusters, d)
	return d
}

func (m *maker) addPart(p *part) *part {
	p.overlay = overlay{}
	m.parts = append(m.parts, p)
	return p
}

func (m *maker) addHead(d *draft) *part {
	return m.addPart(&part{cluster: d.Name, name: v1alpha1.GroupHead, group: &d.Head})
}

func (m *maker) addWorkers(d *draft, name string) (*part, *v1alpha1.WorkerGroup) {
	w := &v1alpha1.WorkerGroup{Name: name}
	d.workers = append(d.workers, w)
	return m.addPart(&part{cluster: d.Name, name: name, group: &w.Group}), w
}

// addDriver is the pod that submits the driver.
func (m *maker) addDriver(cluster string) *part {
	m.run.Spec.Driver.Cluster = cluster
	return m.addPart(&part{cluster: cluster, name: v1alpha1.GroupDriver, group: &v1alpha1.Group{}})
}

func (m *maker) cluster(name string) *draft {
	for _, d := range m.clusters {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// lookAtIdle asks for a command where a cluster of a head alone runs nothing but Ray.
func (m *maker) lookAtIdle() {
	for i, d := range m.clusters {
		if len(d.workers) == 0 && len(d.Head.Command) == 0 && d.Name != m.run.Spec.Driver.Cluster {
			m.need("", "spec.clusters[%d].head.command: the head of cluster %s runs nothing but Ray; what was started in it by hand belongs here", i, d.Name)
		}
	}
}

// readNumber takes replicas; one pod is the default.
func readNumber(w *v1alpha1.WorkerGroup, pods int32) {
	if pods != 1 {
		w.Replicas = new(pods)
	}
}

// readStart takes a container's command that starts Ray.
func (m *maker) readStart(d *draft, p *part, container node, start *rayStart) {
	at := commandPlace(container)
	p.group.Setup = start.setup
	if start.command != "" {
		p.group.Command = m.command(at, start.command)
	}
	for _, statement := range start.kept {
		at.dropPart(statement, "tandem's start script keeps the container alive as long as Ray")
	}
	m.readServer(d, p)
}

// commandPlace is where the text of a command is.
func commandPlace(container node) node {
	if args := container.at("args").items(); len(args) > 0 {
		return args[len(args)-1]
	}
	if words := container.at("command").items(); len(words) > 0 {
		return words[len(words)-1]
	}
	return container.at("command")
}

// containerScript is what a container runs, as a script.
func containerScript(container node) string {
	command, args := peek(container.at("command")), peek(container.at("args"))
	if text, _, is := scriptOf(command, args); is {
		return text
	}
	var words []string
	for _, word := range append(command, args...) {
		words = append(words, quoteWord(word))
	}
	return strings.Join(words, " ")
}

// takeCommand marks the command as read. The shell that ran it is replaced by bash.
func takeCommand(container node) {
	_, login, is := scriptOf(peek(container.at("command")), peek(container.at("args")))
	words := append(container.at("command").items(), container.at("args").items()...)
	for i, word := range words {
		switch {
		case is && i == 0:
			word.drop("tandem's start script is of /bin/bash")
		case is && i == 1 && login:
			word.drop("tandem's start script is of no login shell: nothing of /etc/profile is read")
		case is && i == 1:
			word.drop("tandem's start script is of /bin/bash")
		default:
			word.text()
		}
	}
	container.at("command").take()
	container.at("args").take()
}
