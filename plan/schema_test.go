package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFieldsAreReadFromTheServersSchema(t *testing.T) {
	t.Parallel()
	const podGroup = `{"components": {"schemas": {
		"list": {"x-kubernetes-group-version-kind": [{"kind": "PodGroupList"}]},
		"delete": {"x-kubernetes-group-version-kind": [{"kind": "A"}, {"kind": "PodGroup"}]},
		"own": {"x-kubernetes-group-version-kind": [{"kind": "PodGroup"}], "properties": {"spec": {"properties": {"minSubGroup": {}, "queue": {}}}}}}}}`
	fields, err := fieldsOf([]byte(podGroup), "PodGroup")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"minSubGroup": true, "queue": true}, fields)

	_, err = fieldsOf([]byte(`{"components": {"schemas": {"own": {"x-kubernetes-group-version-kind": [{"kind": "PodGroup"}]}}}}`), "PodGroup")
	require.ErrorIs(t, err, errNoSchema, "a kind without a schema")
	_, err = fieldsOf([]byte(podGroup), "Queue")
	require.ErrorIs(t, err, errNoSchema, "a kind that is not there")
	_, err = fieldsOf([]byte(`[]`), "PodGroup")
	require.ErrorContains(t, err, "reading the schema of PodGroup")
}

func TestTokensThatATemplateAsksForAreTold(t *testing.T) {
	t.Parallel()
	p := planned(t, "testdata/token.yaml", nil)
	require.Contains(t, p.Accounts, Account{
		Name: "default", UsedBy: []string{"rl/worker"}, Containers: []string{"ray"}, May: []string{"what its own bindings say, which are not the run's"},
	})
}
