package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	corev1 "k8s.io/api/core/v1"
)

// TestTheCommentsAreThoseOfTheSource fails when comments.json is stale; go generate ./api/schema writes it.
func TestTheCommentsAreThoseOfTheSource(t *testing.T) {
	found := comments{Types: map[string]typeDoc{}, Values: map[string][]Value{}}
	newSource(t, "api/v1alpha1", "../v1alpha1").extract(&found)
	kubernetes := newSource(t, "core/v1", filepath.Join(moduleDir(t, "k8s.io/api"), "core/v1"))
	kubernetes.enums(&found, reachable())
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(found))
	golden.Assert(t, out.String(), "../comments.json")
}

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err, "go list -m %s", module)
	return strings.TrimSpace(string(out))
}

// reachable are the keys of all types that a Run file consists of.
func reachable() map[string]bool {
	keys, seen := map[string]bool{}, map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		t = item(t)
		keys[typeKey(t)] = true
		if seen[t] || isScalar(t) || t.Kind() != reflect.Struct {
			return
		}
		seen[t] = true
		for f := range t.Fields() {
			visit(f.Type)
		}
	}
	visit(Root().typ)
	return keys
}

// source is the source of a package.
type source struct {
	name   string
	files  []*ast.File
	consts map[string]string // what the constants that comments name are, for people
}

func newSource(t *testing.T, name, dir string) *source {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	slices.Sort(paths)
	s := &source{name: name, consts: map[string]string{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "zz_generated") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		s.files = append(s.files, file)
	}
	s.each(token.CONST, func(_ *ast.GenDecl, spec ast.Spec) { s.constant(spec.(*ast.ValueSpec)) })
	return s
}

// each calls on for every spec of a kind of declaration.
func (s *source) each(kind token.Token, on func(*ast.GenDecl, ast.Spec)) {
	for _, file := range s.files {
		for _, decl := range file.Decls {
			if general, is := decl.(*ast.GenDecl); is && general.Tok == kind {
				for _, spec := range general.Specs {
					on(general, spec)
				}
			}
		}
	}
}

var units = map[string]string{"Second": "s", "Minute": "m", "Hour": "h"}

// constant remembers what a constant is, if that is easily said.
func (s *source) constant(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			return
		}
		switch value := spec.Values[i].(type) {
		case *ast.BasicLit:
			s.consts[name.Name] = strings.Trim(value.Value, `"`)
		case *ast.BinaryExpr:
			count, isCount := value.X.(*ast.BasicLit)
			unit, isUnit := value.Y.(*ast.SelectorExpr)
			if isCount && isUnit {
				s.consts[name.Name] = count.Value + units[unit.Sel.Name]
			}
		}
	}
}

// extract takes everything: the comments of types and fields, and constants.
func (s *source) extract(into *comments) {
	s.each(token.TYPE, func(decl *ast.GenDecl, spec ast.Spec) {
		named := spec.(*ast.TypeSpec)
		if !named.Name.IsExported() {
			return
		}
		doc := typeDoc{Doc: s.text(typeComments(decl, named), named.Name.Name, named.Name.Name)}
		if of, is := named.Type.(*ast.StructType); is {
			doc.Fields = s.fields(of)
		}
		into.Types[s.name+"."+named.Name.Name] = doc
	})
	s.values(into, func(string) bool { return true })
}

// enums takes the constants of those types that Kubernetes calls enumerations, with the comments of the types.
func (s *source) enums(into *comments, wanted map[string]bool) {
	enums := map[string]bool{}
	s.each(token.TYPE, func(decl *ast.GenDecl, spec ast.Spec) {
		named := spec.(*ast.TypeSpec)
		key, text := s.name+"."+named.Name.Name, typeComments(decl, named).Text()
		if wanted[key] && strings.Contains(text, "+enum") {
			enums[key] = true
			into.Types[key] = typeDoc{Doc: s.text(typeComments(decl, named), "", "")}
		}
	})
	s.values(into, func(key string) bool { return enums[key] })
}

// values takes the constants of types, in the order of the source.
func (s *source) values(into *comments, wanted func(key string) bool) {
	s.each(token.CONST, func(_ *ast.GenDecl, spec ast.Spec) {
		value := spec.(*ast.ValueSpec)
		of, isNamed := value.Type.(*ast.Ident)
		if !isNamed || len(value.Values) != 1 || !wanted(s.name+"."+of.Name) {
			return
		}
		literal, isLiteral := value.Values[0].(*ast.BasicLit)
		if !isLiteral || literal.Kind != token.STRING {
			return
		}
		text, _ := strconv.Unquote(literal.Value) // it was parsed
		key := s.name + "." + of.Name
		into.Values[key] = append(into.Values[key], Value{Value: text, Description: s.text(value.Doc, value.Names[0].Name, text)})
	})
}

func typeComments(decl *ast.GenDecl, spec *ast.TypeSpec) *ast.CommentGroup {
	if spec.Doc != nil {
		return spec.Doc
	}
	return decl.Doc
}

// fields are the comments of a struct's fields. One that names the next field, which has none, is about both.
func (s *source) fields(of *ast.StructType) map[string]string {
	docs := map[string]string{}
	json := map[string]string{} // by Go name
	for _, f := range of.Fields.List {
		if len(f.Names) == 1 {
			json[f.Names[0].Name] = jsonName(f)
		}
	}
	var above *ast.CommentGroup
	for _, f := range of.Fields.List {
		if len(f.Names) != 1 || json[f.Names[0].Name] == "" {
			continue
		}
		name := f.Names[0].Name
		comment := f.Doc
		if comment == nil && above != nil && regexp.MustCompile(`\b`+name+`\b`).MatchString(above.Text()) {
			comment = above
		}
		above = comment
		if text := s.text(comment, name, json[name]); text != "" {
			docs[name] = leading(text, json)
		}
	}
	return docs
}

func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value) // it was parsed
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// leading calls the fields that a comment begins with as the file does: "MinReplicas and MaxReplicas let ..."
func leading(text string, json map[string]string) string {
	for name, inFile := range json {
		text = regexp.MustCompile(`^(\w+(?:, \w+)*(?:,| and) )`+name+`\b`).ReplaceAllString(text, "${1}"+inFile)
	}
	return text
}

var (
	blank    = regexp.MustCompile(`[ \t]*\n[ \t]*`)
	constant = regexp.MustCompile(`\bDefault[A-Z]\w*`)
)

// text is a comment for people who do not see the source: in paragraphs, without markers, with the name and constants as in the file.
func (s *source) text(comment *ast.CommentGroup, goName, inFile string) string {
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(comment.Text()), "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if !strings.HasPrefix(line, "+") {
				lines = append(lines, line)
			}
		}
		if text := strings.TrimSpace(blank.ReplaceAllString(strings.Join(lines, "\n"), " ")); text != "" {
			paragraphs = append(paragraphs, text)
		}
	}
	text := strings.Join(paragraphs, "\n\n")
	if rest, begins := strings.CutPrefix(text, goName+" "); begins && goName != inFile {
		text = inFile + " " + rest
	}
	return constant.ReplaceAllStringFunc(text, func(name string) string {
		if value, is := s.consts[name]; is {
			return value
		}
		return name
	})
}

func TestEveryDescriptionIsForPeople(t *testing.T) {
	t.Parallel()
	for key, doc := range known().Types {
		for field, text := range doc.Fields {
			require.NotRegexp(t, constant, text, "%s.%s names a constant that the reader does not see", key, field)
		}
	}
	require.NotEmpty(t, known().Types)
}

func TestEveryTypeOfOursHasAComment(t *testing.T) {
	t.Parallel()
	for _, f := range all(t, Root()) {
		if of := item(f.typ); isOurs(of) {
			require.NotEmpty(t, typeComment(of), f.Path)
		}
	}
}

// all are the fields below one that are ours, or that our types hold at once.
func all(t *testing.T, f Field) []Field {
	t.Helper()
	var fields []Field
	for _, child := range f.Fields() {
		fields = append(fields, child)
		if isOurs(item(child.typ)) {
			fields = append(fields, all(t, child)...)
		}
	}
	return fields
}

func TestEnumerationsOfKubernetes(t *testing.T) {
	t.Parallel()
	want := []Value{}
	for _, policy := range []corev1.PullPolicy{corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent} {
		want = append(want, Value{Value: string(policy)})
	}
	got := valuesOf(reflect.TypeFor[corev1.PullPolicy]())
	for i := range got {
		require.NotEmpty(t, got[i].Description, fmt.Sprint(got[i]))
		got[i].Description = ""
	}
	require.Equal(t, want, got)
}
