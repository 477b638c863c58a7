package launch

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fixed are the kinds whose objects stay as they were made. The server would take a changed RayCluster, but KubeRay changes no pod that
// is there, and one that it removed would be missed by its peers.
var fixed = []string{jobSets.name, rayJobs.name, rayClusters.name, jobs.name}

// ChangedError refuses to change what cannot be changed while it is there.
type ChangedError struct {
	Name   string // of the run
	Object string // Kind/namespace/name
	Fields []string
}

func (e *ChangedError) Error() string {
	verb := "is"
	if len(e.Fields) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s cannot be changed while it is there (%s %s immutable)", e.Object, strings.Join(e.Fields, ", "), verb)
}

// changed reports the fields in which an object that is to stay as it is differs from what would become of it.
func changed(subject string, existing, next *unstructured.Unstructured) error {
	if existing == nil || next == nil || existing.GetUID() == "" || !slices.Contains(fixed, next.GetKind()) {
		return nil
	}
	before, _, _ := unstructured.NestedMap(existing.Object, "spec")
	after, _, _ := unstructured.NestedMap(next.Object, "spec")
	keys := map[string]any{}
	maps.Copy(keys, before)
	maps.Copy(keys, after)
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !apiequality.Semantic.DeepEqual(before[key], after[key]) {
			fields = append(fields, "spec."+key)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &ChangedError{Object: subject, Fields: fields}
}

// refusal shortens what the server says about an object that it does not take: it repeats the whole value.
func refusal(subject string, err error) error {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	var immutable, texts []string
	for _, cause := range status.Status().Details.Causes {
		if strings.Contains(cause.Message, "immutable") {
			immutable = append(immutable, cause.Field)
		}
		texts = append(texts, shortCause(cause))
	}
	switch {
	case len(immutable) > 0:
		return &ChangedError{Object: subject, Fields: slices.Compact(slices.Sorted(slices.Values(immutable)))}
	case len(texts) > 0:
		return fmt.Errorf("the server does not take %s: %s", subject, strings.Join(texts, "; "))
	}
	return err
}

// wholeObject is a value in a message that is no scalar.
var wholeObject = regexp.MustCompile(`(?s)^(\w[\w ]*): [\[{].*[\]}]: `)

const maxCause = 300

func shortCause(cause metav1.StatusCause) string {
	text := wholeObject.ReplaceAllString(cause.Message, "$1: ")
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "..."
	}
	return cause.Field + ": " + text
}
