package launch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What JobSet's webhook says of a changed JobSet holds all of it.
func TestARefusalDoesNotRepeatTheWholeObject(t *testing.T) {
	t.Parallel()
	value := map[string]string{"name": strings.Repeat("x", 10000)}
	path := field.NewPath("spec", "replicatedJobs")
	invalid := func(errs ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, "mine", errs)
	}
	require.EqualError(t, refusal("JobSet/default/mine", invalid(field.Invalid(path, value, "field is immutable"))),
		"JobSet/default/mine cannot be changed while it is there (spec.replicatedJobs is immutable)")
	require.EqualError(t, refusal("JobSet/default/mine", invalid(field.Invalid(path, value, "too many"), field.Required(field.NewPath("x"), ""))),
		"the server does not take JobSet/default/mine: spec.replicatedJobs: Invalid value: too many; x: Required value")
	require.Less(t, len(refusal("x", invalid(field.Invalid(path, strings.Repeat("x", 10000), "no"))).Error()), 400)
}
