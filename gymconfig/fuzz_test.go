package gymconfig

import (
	"bytes"
	"testing"
)

// FuzzText holds what is true of every string: it is resolved or refused without a panic, and what was literal is read from
// what is written of it.
func FuzzText(f *testing.F) {
	for _, seed := range references {
		f.Add(seed)
	}
	for _, seed := range arguments {
		f.Add("${oc.env:NOPE," + seed + "}")
	}
	for _, seed := range hardStrings {
		f.Add(seed)
	}
	root, err := parseYAML([]byte(base))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		at := newScalar(source)
		at.parent = root
		r := &resolver{root: root, section: root.get("map"), known: ServerKeys, env: lookUpOracleEnv}
		m := &materialiser{resolver: r}
		m.child(at, "x")
		if len(r.busy) > 0 || len(m.open) > 0 {
			t.Errorf("%q: left open: %d values, %d containers", source, len(r.busy), len(m.open))
		}
		again, err := (&resolver{root: root}).value(&node{kind: scalarKind, scalar: escape(source, false), parent: root})
		if source != missingValue && (err != nil || again != any(source)) {
			t.Errorf("%q is escaped to %q, which is %v (%v)", source, escape(source, false), again, err)
		}
	})
}

// FuzzYAML holds what is true of every file: what was read is the same after it was written and read again.
func FuzzYAML(f *testing.F) {
	for _, seed := range scalars {
		f.Add("a: " + seed)
	}
	for _, seed := range hardStrings {
		f.Add("a: [" + seed + "]\n? " + seed + "\n: b\n")
	}
	f.Add(base)
	f.Fuzz(func(t *testing.T, text string) {
		first, err := parseYAML([]byte(text))
		if err != nil {
			return
		}
		var written, rewritten bytes.Buffer
		if err := (&Result{section: first}).WriteYAML(&written); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		second, err := parseYAML(written.Bytes())
		if err != nil {
			t.Fatalf("%q is written as %q, which cannot be read: %v", text, written.String(), err)
		}
		if err := (&Result{section: second}).WriteYAML(&rewritten); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if nodeRepr(first) != nodeRepr(second) || written.String() != rewritten.String() {
			t.Errorf("%q is written as %q and read as %s, not %s", text, written.String(), nodeRepr(second), nodeRepr(first))
		}
	})
}
