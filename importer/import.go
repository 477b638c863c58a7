package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// File is one of the files to import.
type File struct {
	Name string
	Data []byte
}

// Options say what the files leave open.
type Options struct {
	// Name of the run; default: what the workloads are called.
	Name string
	// User is what ${user:} in an infra file means.
	User string
}

// Result is a Run and how it came about.
type Result struct {
	Run *v1alpha1.Run
	// YAML is the Run as a file, with marks where something is needed.
	YAML []byte
	// Dropped is what of the input is not in the Run.
	Dropped []Dropped
	// Needs are what the user has to look at before the run can start, and placeholders to fill.
	Needs []string
}

// Import makes one Run of all workloads in the files. The error lists everything that is wrong with them.
func Import(files []File, options Options) (*Result, error) {
	m := &maker{options: options}
	for _, file := range files {
		objects, err := readObjects(file)
		if err != nil {
			return nil, err
		}
		m.objects = append(m.objects, objects...)
	}
	if err := m.readWorkloads(); err != nil {
		return nil, err
	}
	m.finish()
	return m.result()
}

// maker makes a Run of objects.
type maker struct {
	options  Options
	objects  []*object
	run      v1alpha1.Run
	clusters []*draft
	// parts are all pods, in the order of the input; the driver's is among them if it has one.
	parts []*part
	// made are claims that nrl-k8s would have made, by the name of their template.
	made   map[string]v1alpha1.Claim
	queues []place
	// renames are names that commands may mention, and what they become.
	renames map[string]string
	needs   []need
}

// place is a value and where it was found.
type place struct {
	value string
	node  node
}

// need is something for the user to look at, and the field of the Run that it is about.
type need struct{ field, text string }

func (m *maker) need(field, format string, args ...any) {
	m.needs = append(m.needs, need{field, fmt.Sprintf(format, args...)})
}

func (m *maker) of(kinds ...string) []*object {
	var out []*object
	for _, o := range m.objects {
		if slices.Contains(kinds, o.kind) {
			out = append(out, o)
		}
	}
	return out
}

// readWorkloads decides what the backend is.
func (m *maker) readWorkloads() error {
	jobSets, infras := m.of("JobSet"), m.of(kindInfra)
	rayJobs, rayClusters := m.of("RayJob"), m.of("RayCluster")
	switch n := len(jobSets) + len(infras) + len(rayJobs) + len(rayClusters); {
	case n == 0:
		return m.nothing()
	case len(jobSets) > 1 || len(infras) > 1 || len(rayJobs) > 1:
		return m.tooMany("one run has one JobSet, one RayJob or one infra file; its RayClusters may be several")
	case n > 1 && len(jobSets)+len(infras) > 0:
		return m.tooMany("a run has one backend")
	case len(jobSets) == 1:
		return m.readJobSet(jobSets[0])
	case len(infras) == 1:
		return m.readInfra(infras[0])
	default:
		return m.readKubeRay(rayJobs, rayClusters)
	}
}

// tooMany refuses files that are several runs.
func (m *maker) tooMany(why string) error {
	var names []string
	for _, o := range m.objects {
		if workloads[o.kind] {
			names = append(names, o.object)
		}
	}
	return fmt.Errorf("%s: %s; import them apart", strings.Join(names, ", "), why)
}

// NothingError says what the files are instead of workloads.
type NothingError struct{ Lines []string }

func (e *NothingError) Error() string {
	return "no JobSet, RayCluster, RayJob or nrl-k8s infra file:\n  " + strings.Join(e.Lines, "\n  ")
}

func (m *maker) nothing() error {
	out := &NothingError{}
	for _, o := range m.objects {
		what := fmt.Sprintf("%s: %s %s", o.file, o.kind, o.name)
		if o.name == o.file {
			what = fmt.Sprintf("%s: a %s", o.file, o.kind)
		}
		out.Lines = append(out.Lines, what+": "+o.standIn())
	}
	if len(out.Lines) == 0 {
		out.Lines = []string{"the files are empty"}
	}
	return out
}

// finish settles what all pods have a say in.
func (m *maker) finish() {
	m.run.APIVersion, m.run.Kind = v1alpha1.APIVersion, v1alpha1.Kind
	m.settleClaims()
	m.settlePods()
	m.settleScheduling()
	m.settleDriver()
	m.lookAtIdle()
	m.applyRenames()
	m.dropOthers()
	m.assemble()
}

// dropOthers lists the objects that are no workloads and were of no use.
func (m *maker) dropOthers() {
	for _, o := range m.objects {
		if o.used || workloads[o.kind] {
			continue
		}
		o.dropped = append(o.dropped, Dropped{o.object, "", o.root, o.standIn()})
		o.node().take()
		if o.isNeeded() {
			m.need("", "%s: %s", o.object, beside)
		}
	}
}

// result writes the Run, and reads it again as every command does.
func (m *maker) result() (*Result, error) {
	var wrong []error
	out := &Result{}
	for _, o := range m.objects {
		wrong = append(wrong, o.wrong...)
		out.Dropped = append(out.Dropped, o.close()...)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	for _, n := range m.needs {
		text := n.text
		if n.field != "" {
			text = n.field + ": " + text
		}
		out.Needs = append(out.Needs, text)
	}
	data, err := m.yaml()
	if err != nil {
		return nil, err
	}
	out.YAML = data
	if out.Run, err = v1alpha1.Load(data); err != nil {
		return nil, &InvalidError{Result: out, Err: err}
	}
	return out, nil
}

// InvalidError says why what was made of the files is no Run yet. It holds the result without [Result.Run], so that the file can be mended.
type InvalidError struct {
	Result *Result
	Err    error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("what comes out is no valid Run yet: %v", e.Err)
}

func (e *InvalidError) Unwrap() error { return e.Err }
