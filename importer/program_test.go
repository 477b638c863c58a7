package importer

import (
	"fmt"
	"strings"
)

// withPrograms puts the words of what a container runs in the place of its command and args: how a program is cut into words and
// scripts is no difference, and a word that is lost or new is one. Tandem's own scripts are not compared.
func withPrograms(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = withPrograms(item)
		}
		if words := programWords(v); words != nil {
			delete(out, "command")
			delete(out, "args")
			out["program"] = words
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withPrograms(item)
		}
		return out
	default:
		return value
	}
}

// programWords counts each word; it is nil for what is no container.
func programWords(container map[string]any) map[string]any {
	command, _ := container["command"].([]any)
	args, _ := container["args"].([]any)
	if _, isContainer := container["image"]; !isContainer || len(command)+len(args) == 0 {
		return nil
	}
	if len(command) == 4 && strings.HasPrefix(fmt.Sprint(command[3]), "tandem-") {
		command = command[3:]
	}
	counts := map[string]int{}
	for _, text := range append(append([]any{}, command...), args...) {
		unescaped := strings.ReplaceAll(fmt.Sprint(text), "$$", "$") // as Kubernetes does
		for _, word := range strings.Fields(unescaped) {
			word = strings.Trim(word, `"'`)
			if word != "" && word != `\` {
				counts[word]++
			}
		}
	}
	out := map[string]any{}
	for word, n := range counts {
		out[word] = n
	}
	return out
}
