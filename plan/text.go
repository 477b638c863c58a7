package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// WriteText writes a plan for people; the last line is the verdict.
func (p *Plan) WriteText(out io.Writer) error {
	var text bytes.Buffer
	w := &writer{tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)}
	w.line("run %s: namespace %s, backend %s, scheduler %s", p.Run, p.Namespace, p.Backend, p.schedulerInWords())
	w.objects(p.Objects)
	w.groups(p)
	w.gangs(p)
	w.accounts(p.Accounts)
	w.heads(p)
	w.needs(p)
	if len(p.Findings) > 0 {
		w.section("checks")
		for _, finding := range p.Findings {
			w.line("  %s\t%s", finding.State, finding)
		}
	}
	w.line("")
	w.line("%s", p.Verdict.Text)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := out.Write(blanksAtEnd.ReplaceAll(text.Bytes(), nil))
	return err
}

// blanksAtEnd are what a tabwriter leaves behind where the last cells of a line are empty.
var blanksAtEnd = regexp.MustCompile(`(?m) +$`)

func (p *Plan) schedulerInWords() string {
	text := string(p.Scheduler)
	if version := p.run.Spec.Scheduling.KAIVersion; version != "" {
		text += " " + version
	}
	if p.Queue != "" {
		text += ", queue " + p.Queue
	}
	return text
}

type writer struct{ *tabwriter.Writer }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) section(name string) { w.line("\n%s", name) }

func (w *writer) objects(objects []Object) {
	w.section("objects")
	for _, kind := range kindsOf(objects) {
		var names []string
		for _, object := range objects {
			if object.Kind == kind {
				names = append(names, object.Name)
			}
		}
		if len(names) > fewNames {
			names = append(names[:fewNames-1:fewNames-1], fmt.Sprintf("and %d more", len(names)-fewNames+1))
		}
		w.line("  %s\t%s", kind, strings.Join(names, ", "))
	}
}

// kindsOf are the kinds in the order in which they are applied.
func kindsOf(objects []Object) []string {
	var out []string
	for _, object := range objects {
		out = union(out, object.Kind)
	}
	return out
}

func (w *writer) groups(p *Plan) {
	w.section("pods")
	w.line("  GROUP\tPODS\tGPU\tMEMORY\tCPU\tOTHER")
	for _, group := range p.Groups {
		w.line("  %s/%s\t%d%s\t%s", group.Cluster, group.Name, group.Pods, howPlaced(group), columns(group.Each, each))
	}
	w.line("  total\t%d\t%s", p.Pods, columns(p.Total, amountOf))
}

func howPlaced(group Group) string {
	text := ""
	if group.Segments > 0 {
		text = fmt.Sprintf(" in %d segments", group.Segments)
	}
	if group.Most > 0 {
		text += fmt.Sprintf(", up to %d", group.Most)
	}
	return text
}

// each marks an amount as that of one pod.
func each(name corev1.ResourceName, amount int64) string { return "x " + amountOf(name, amount) }

func columns(r Resources, format func(corev1.ResourceName, int64) string) string {
	cells := []string{}
	first := []corev1.ResourceName{v1alpha1.ResourceGPU, corev1.ResourceMemory, corev1.ResourceCPU}
	for _, name := range first {
		cell := "-"
		if r[name] != 0 {
			cell = format(name, r[name])
		}
		cells = append(cells, cell)
	}
	var rest []string
	for _, name := range r.names() {
		if !slices.Contains(first, name) {
			rest = append(rest, fmt.Sprintf("%s %s", name, format(name, r[name])))
		}
	}
	return strings.Join(append(cells, strings.Join(rest, ", ")), "\t")
}

func (w *writer) gangs(p *Plan) {
	w.section("what starts together")
	if len(p.Gangs) == 0 {
		w.line("  nothing: pods start one by one")
	}
	for _, gang := range p.Gangs {
		count := ""
		if gang.Count > 1 {
			count = fmt.Sprintf(" (%d of these)", gang.Count)
		}
		w.line("  %s%s: %d of %s", gang.Name, count, gang.Min, pods(gang.Pods))
		if gang.Broken != "" {
			w.line("    never forms: %s", gang.Broken)
		}
		w.parts(rowsOf(gang.Parts, ""), "    ")
	}
}

func (w *writer) accounts(accounts []Account) {
	w.section("who may do what")
	for _, account := range accounts {
		if len(account.UsedBy) == 0 {
			w.line("  ServiceAccount %s: no pod", account.Name)
			continue
		}
		containers := "container "
		if len(account.Containers) > 1 {
			containers = "containers "
		}
		w.line("  ServiceAccount %s: %s of %s", account.Name, containers+strings.Join(account.Containers, ", "), some(account.UsedBy))
		for _, may := range account.May {
			w.line("    %s", may)
		}
	}
	w.line("  all other containers: nothing, they have no token")
}

func (w *writer) heads(p *Plan) {
	w.section("addresses")
	for _, head := range p.Heads {
		host := head.Host
		if name, isVariable := strings.CutPrefix(host, "$("); isVariable {
			host = "$" + strings.TrimSuffix(name, ")") + " in its workers; KubeRay makes up the name"
		}
		w.line("  %s\t%s\t%s", head.Cluster, host, portsInWords(head.Ports))
	}
	for _, group := range p.Groups {
		if group.Name != v1alpha1.GroupHead && len(group.Ports) > 0 {
			w.line("  %s/%s\tits pods' addresses\t%s", group.Cluster, group.Name, portsInWords(group.Ports))
		}
	}
	ranges := p.run.Spec.PortRanges
	for _, r := range []struct {
		who   string
		ports v1alpha1.PortRange
	}{{"Ray's workers", ranges.Ray}, {"inference servers", ranges.Generation}, {"Gym's servers", ranges.Gym}} {
		if r.ports != "" {
			w.line("  %s\tin each pod\tports %s", r.who, r.ports)
		}
	}
}

func (w *writer) needs(p *Plan) {
	queue := map[v1alpha1.Scheduler]string{v1alpha1.SchedulerKAI: "Queue", v1alpha1.SchedulerKueue: "LocalQueue"}[p.Scheduler]
	topology := p.run.Spec.Scheduling.Topology
	if len(p.Needs) == 0 && queue == "" {
		return
	}
	w.section("what must be there already")
	if queue != "" {
		w.line("  %s\t%s\tfor the run", queue, p.Queue)
	}
	if topology != nil {
		w.line("  Topology\t%s\tfor the run", topology.Name)
	}
	for i := range p.Needs {
		ref := &p.Needs[i]
		name := ref.Name
		if len(ref.Keys) > 0 {
			name += " with " + strings.Join(ref.Keys, ", ")
		}
		w.line("  %s\t%s\tfor %s", ref.Kind, name, ref.users())
	}
}

// users are who needs it, in words.
func (r *Reference) users() string {
	who := "a claim"
	if len(r.UsedBy) > 0 {
		who = some(r.UsedBy)
	}
	if r.Optional {
		who += " if it is there"
	}
	return who
}

func portsInWords(ports map[string]int32) string {
	names := slices.SortedFunc(maps.Keys(ports), func(a, b string) int { return cmp.Or(cmp.Compare(ports[a], ports[b]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, ports[name])
	}
	return strings.Join(names, ", ")
}
