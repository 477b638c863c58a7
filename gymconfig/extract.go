package gymconfig

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// Section is where a recipe has Gym's part.
const Section = "env.nemo_gym"

// ServerKeys are the keys that NeMo-RL's standalone Gym server sets itself before Gym reads the configuration. References
// to them stay as they are.
var ServerKeys = []string{
	"policy_base_url", "policy_model_name", "policy_api_key", "head_server", "use_absolute_ip",
	"global_aiohttp_connector_limit", "global_aiohttp_connector_limit_per_host",
}

// nanAttempts is how often NeMo-RL asks Gym again after a NaN. With less than one attempt it would not ask at all.
const nanAttempts = "rollout_max_attempts_to_avoid_lp_nan"

// Options say what to extract and how.
type Options struct {
	// Overrides change the recipe before it is resolved, in Hydra's words: a.b=1, +a.c=2, ++a.c=3, ~a.d.
	Overrides []string
	// Keep names keys of Gym's root that Gym gets from elsewhere (a file in config_paths, env.yaml), beyond [ServerKeys].
	Keep []string
	// Env looks up variables for oc.env. Where it is nil, Gym does it in its own environment.
	Env func(name string) (value string, set bool)
	// Ports, where given, is the range that Gym's servers take their ports from; without one Gym picks any of 10001-20000.
	Ports *PortRange
}

// Dropped is a value that could not be resolved.
type Dropped struct {
	Path   string // in the section: a.b[0].c
	Value  string // as it is in the recipe
	Reason string
}

func (d Dropped) String() string { return fmt.Sprintf("%s = %q: %s", d.Path, d.Value, d.Reason) }

// Result is Gym's part of a recipe.
type Result struct {
	Dropped []Dropped
	// Files are all that were read: the recipe, and what it builds on.
	Files []string

	section *node
}

// Extract reads a recipe with what it builds on, and resolves Gym's part of it. What is wrong with a file is a [FileError],
// what is wrong with an override an [OverrideError].
func Extract(file string, o Options) (*Result, error) {
	for _, key := range o.Keep {
		if !identifier.MatchString(key) {
			return nil, fmt.Errorf("the key to keep, %q, is no name of a key at the top, like judge_base_url", key)
		}
	}
	load := &loader{}
	root, err := load.recipe(file)
	if err != nil {
		return nil, err
	}
	for _, override := range o.Overrides {
		if err := applyOverride(root, override); err != nil {
			return nil, &OverrideError{override, err}
		}
	}
	out, err := extract(root, o)
	if err != nil {
		return nil, &FileError{file, err}
	}
	out.Files = load.files
	return out, nil
}

func extract(root *node, o Options) (*Result, error) {
	r := &resolver{root: root, env: o.Env, known: append(append([]string{}, ServerKeys...), o.Keep...)}
	value, err := r.find(root, strings.Split(Section, "."))
	if errors.Is(err, errNoKey) {
		return nil, noSection(root)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Section, err)
	}
	section, is := value.(*node)
	if !is || section.kind != mappingKind {
		return nil, fmt.Errorf("%s is %s, not a mapping", Section, describe(value))
	}
	r.section = section
	if err := checkAttempts(r, section); err != nil {
		return nil, err
	}
	m := &materialiser{resolver: r}
	out := m.container(section, "")
	if r.steps > maxSteps {
		return nil, fmt.Errorf("%s: %w", Section, errEndless)
	}
	o.Ports.set(out)
	return &Result{Dropped: m.dropped, section: out}, nil
}

func noSection(root *node) error {
	if root.get("config_paths") != nil {
		return fmt.Errorf("no %s: it looks like Gym's part of a recipe already", Section)
	}
	return fmt.Errorf("no %s: it is no recipe that uses NeMo Gym", Section)
}

func checkAttempts(r *resolver, section *node) error {
	attempts := section.get(nanAttempts)
	if attempts == nil {
		return nil
	}
	value, err := r.value(attempts)
	if err != nil {
		return nil // it is dropped with its reason
	}
	if count, is := value.(*big.Int); !is || count.Sign() < 1 {
		return fmt.Errorf("%s.%s is %s: it must be a whole number of at least 1, or no rollout is ever tried",
			Section, nanAttempts, pythonRepr(value))
	}
	return nil
}

// materialiser copies a section with all values resolved.
type materialiser struct {
	*resolver
	literally bool // strings are copied as they are, not for OmegaConf to read again
	dropped   []Dropped
	open      []*node // containers that are being copied
}

func (m *materialiser) container(n *node, path string) *node {
	m.open = append(m.open, n)
	defer func() { m.open = m.open[:len(m.open)-1] }()
	out := &node{kind: n.kind}
	for _, one := range n.entries {
		if value := m.child(one.value, keyPath(path, one.key)); value != nil {
			out.set(one.key, value)
		}
	}
	for i, item := range n.items {
		if value := m.child(item, itemPath(path, i)); value != nil {
			out.add(value)
		}
	}
	return out
}

// child is the resolved value, or nil if it is dropped.
func (m *materialiser) child(n *node, path string) *node {
	value, err := m.value(n)
	target, isContainer := value.(*node)
	if err == nil && isContainer {
		err = m.endless(target)
	}
	switch {
	case n.isMissing() && m.serverSets(path):
		return n.clone()
	case err != nil:
		value := pythonString(n.scalar)
		m.dropped = append(m.dropped, Dropped{path, value, strings.TrimPrefix(err.Error(), value+": ")})
		return nil
	case isContainer:
		return m.container(target, path)
	}
	if other, is := value.(onlyGym); is {
		return newScalar(other.text)
	}
	if text, is := value.(string); is && !m.literally {
		value = escape(text, false)
	}
	return newScalar(value)
}

// serverSets says whether a ??? is one that the server replaces.
func (m *materialiser) serverSets(path string) bool {
	for _, key := range m.known {
		if path == key || strings.HasPrefix(path, key+".") {
			return true
		}
	}
	return false
}

// endless finds a reference that would be copied into its own copy for ever.
func (m *materialiser) endless(target *node) error {
	for i, open := range m.open {
		if open == target {
			return cycle(append(append([]*node{}, m.open[i:]...), target))
		}
	}
	return nil
}
