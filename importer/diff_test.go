package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference between an object as it was and as tandem renders it.
type difference struct {
	sign     string // ~ changed, - gone, + new
	path     string
	old, new any
}

// String leaves long texts out: they are programs, which are compared by their parts elsewhere.
func (d difference) String() string {
	switch d.sign {
	case "-":
		return fmt.Sprintf("- %s: %s", d.path, brief(d.old))
	case "+":
		if _, is := d.new.(map[string]any); is {
			return "+ " + d.path // how much it is may change with tandem
		}
		return fmt.Sprintf("+ %s: %s", d.path, brief(d.new))
	default:
		return fmt.Sprintf("~ %s: %s -> %s", d.path, brief(d.old), brief(d.new))
	}
}

func brief(value any) string {
	if mapping, is := value.(map[string]any); is && len(mapping) > 0 {
		n := 0
		leaves("", mapping, func(string, any) { n++ })
		return fmt.Sprintf("(%d fields)", n)
	}
	text := fmt.Sprint(value)
	if strings.Contains(text, "\n") || len(text) > 70 {
		return "(a text)"
	}
	return text
}

// compare lists the differences of two trees in which lists are mappings by name.
func compare(path string, old, now any) []difference {
	was, isMapping := old.(map[string]any)
	is, isMappingToo := now.(map[string]any)
	if !isMapping || !isMappingToo {
		if fmt.Sprint(old) == fmt.Sprint(now) {
			return nil
		}
		return []difference{{"~", path, old, now}}
	}
	var out []difference
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, before := was[key]
		b, after := is[key]
		if isCollection(key) {
			a, before = orEmpty(a), true
			b, after = orEmpty(b), true
		}
		switch at := memberPath(path, key); {
		case !after:
			out = append(out, difference{"-", at, a, nil})
		case !before:
			out = append(out, difference{"+", at, nil, b})
		default:
			out = append(out, compare(at, a, b)...)
		}
	}
	return out
}

// isCollection: what is missing of it is told item by item.
func isCollection(key string) bool {
	return slices.Contains([]string{"metadata", "labels", "annotations", "env", "ports", "initContainers", "volumes", "program"}, key)
}

func orEmpty(value any) any {
	if value == nil {
		return map[string]any{}
	}
	return value
}

// memberPath: keys of what was a list are in brackets already.
func memberPath(path, key string) string {
	if strings.HasPrefix(key, "[") {
		return path + key
	}
	return keyPath(path, key)
}

// byName turns lists into mappings, whose keys are what Kubernetes tells the items apart by.
func byName(list string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = byName(key, item)
		}
		return out
	case []any:
		out := map[string]any{}
		for i, item := range v {
			out[nameOf(list, item, i)] = byName("", item)
		}
		return out
	default:
		return value
	}
}

func nameOf(list string, item any, i int) string {
	key := "name"
	switch list {
	case "volumeMounts":
		key = "mountPath"
	case "workerGroupSpecs":
		key = "groupName"
	}
	if mapping, is := item.(map[string]any); is && mapping[key] != nil {
		return fmt.Sprintf("[%v]", mapping[key])
	}
	return fmt.Sprintf("[%d]", i)
}
