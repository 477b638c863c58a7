package plan

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (p *Plan) judgeReference(s *Sight, ref *Reference) {
	about := ref.Kind + " " + ref.Name
	switch seen := s.Refs[about]; {
	case apierrors.IsNotFound(seen.Err) && ref.Optional:
		p.find(OK, about, "is not there, and need not be")
	case apierrors.IsNotFound(seen.Err):
		p.find(Missing, about, "there is none%s, and %s", p.where(ref), needs(ref))
	case seen.Err != nil:
		p.cannotTell(about, seen.Err)
	case ref.Kind == kindVolumeClaim:
		p.judgeVolumeClaim(s, ref, seen.Value)
	default:
		p.judgeKeys(ref, seen.Value)
	}
}

// where is the namespace of a reference that has one.
func (p *Plan) where(ref *Reference) string {
	if referred[ref.Kind].namespaced {
		return " in namespace " + p.Namespace
	}
	return ""
}

// needs says who needs it.
func needs(ref *Reference) string {
	if len(ref.UsedBy) == 0 {
		return "a claim of the run names it"
	}
	verb := " need it"
	if len(ref.UsedBy) == 1 {
		verb = " needs it"
	}
	return some(ref.UsedBy) + verb
}

// some names the first of a long list.
func some(names []string) string {
	if len(names) > fewNames {
		return strings.Join(names[:fewNames-1], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

func (p *Plan) judgeKeys(ref *Reference, object *unstructuredObject) {
	about := ref.Kind + " " + ref.Name
	var missing []string
	for _, key := range ref.Keys {
		_, plain, errPlain := unstructured.NestedFieldNoCopy(object.Object, "data", key)
		_, binary, errBinary := unstructured.NestedFieldNoCopy(object.Object, "binaryData", key)
		if !(plain && errPlain == nil || binary && errBinary == nil) {
			missing = append(missing, key)
		}
	}
	switch {
	case len(missing) > 0:
		p.find(Missing, about, "has no key %s, and %s", strings.Join(missing, ", "), needs(ref))
	case len(ref.Keys) > 0:
		p.find(OK, about, "is there, with %s", strings.Join(ref.Keys, ", "))
	default:
		p.find(OK, about, "is there")
	}
}

// judgeVolumeClaim: a claim that waits for its first pod is as good as a bound one.
func (p *Plan) judgeVolumeClaim(s *Sight, ref *Reference, claim *unstructuredObject) {
	about := ref.Kind + " " + ref.Name
	// What is not there is read as empty, which is no phase.
	phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase")
	class, _, _ := unstructured.NestedString(claim.Object, "spec", "storageClassName")
	switch {
	case phase == "Bound":
		p.judgeModes(ref, claim)
	case phase == "Lost":
		p.find(Missing, about, "has lost its volume, and %s", needs(ref))
	case s.BindingModes[class] == "WaitForFirstConsumer":
		p.find(OK, about, "is bound when the first pod needs it (class %s)", class)
	case s.BindingModes[class] == "":
		p.find(Unknown, about, "is not bound, and its class %q says not when it will be", class)
	default:
		p.find(Missing, about, "is not bound (class %s), and %s; kubectl describe pvc %s -n %s", class, needs(ref), ref.Name, p.Namespace)
	}
}

func (p *Plan) judgeModes(ref *Reference, claim *unstructuredObject) {
	about := ref.Kind + " " + ref.Name
	modes, _, _ := unstructured.NestedStringSlice(claim.Object, "spec", "accessModes")
	switch {
	case ref.pods > 1 && only(modes, "ReadWriteOncePod"):
		p.find(Refused, about, "is ReadWriteOncePod, and %d pods want it", ref.pods)
	case ref.pods > 1 && only(modes, "ReadWriteOnce"):
		p.find(Warning, about, "is bound, but ReadWriteOnce: its %d pods must all run on one node", ref.pods)
	default:
		p.find(OK, about, "is bound")
	}
}

func only(modes []string, mode string) bool { return len(modes) == 1 && modes[0] == mode }
