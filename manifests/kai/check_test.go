package kai_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/manifests/kai"
)

// violationCase is objects with one thing wrong. An empty message means that the rule has nothing to say.
type violationCase struct {
	rule    kai.Rule
	name    string
	version string // default 0.17.0
	mode    kai.Mode
	objects []any
	object  string
	field   string
	message string // a part of it
	warning bool
}

func (c violationCase) check(t *testing.T) {
	t.Helper()
	if c.version == "" {
		c.version = "0.17.0"
	}
	all := kai.Check(parse(t, c.version), c.mode, read(t, c.objects...))
	var found []kai.Violation
	for _, violation := range all {
		if violation.Rule == c.rule {
			found = append(found, violation)
		}
	}
	if c.message == "" {
		if !checked(c.rule) { // what the rule calls harmless must not be refused by another one
			require.Empty(t, kai.Refused(all))
		}
		require.Empty(t, found)
		return
	}
	i := slices.IndexFunc(found, func(v kai.Violation) bool {
		return v.Object == c.object && v.Field == c.field && v.Warning == c.warning && strings.Contains(v.Message, c.message)
	})
	require.GreaterOrEqual(t, i, 0, "no violation of rule %s with object %q, field %q, warning %t and %q in its message, but %+v",
		c.rule, c.object, c.field, c.warning, c.message, found)
	require.Contains(t, found[i].Error(), "(rule "+string(c.rule)+")")
}

func checked(id kai.Rule) bool {
	for _, rule := range kai.Rules() {
		if rule.Rule == id {
			return rule.Checked
		}
	}
	return false
}

func run(t *testing.T, cases []violationCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(string(c.rule)+" "+c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
}

func TestEveryRuleThatIsCheckedHasACaseThatViolatesIt(t *testing.T) {
	t.Parallel()
	violated := map[kai.Rule]bool{}
	for _, cases := range [][]violationCase{orderCases(), jobCases(), rayCases(), memberCases(t), podGroupCases(t), versionCases(t), queueCases(t)} {
		for _, c := range cases {
			violated[c.rule] = violated[c.rule] || c.message != ""
		}
	}
	for _, rule := range kai.Rules() {
		require.NotEmpty(t, rule.About)
		require.Equal(t, rule.Checked, violated[rule.Rule], "rule %s", rule.Rule)
	}
}

func TestWhatThisPackageBuildsIsNotRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		version string
		mode    kai.Mode
		objects []any
	}{
		{"a run over two RayClusters on 0.15", "0.15.3", kai.GangPerRun, gangOfTwo(t, "0.15.3")},
		{"a run over two RayClusters on 0.16", "0.16.8", kai.GangPerRun, gangOfTwo(t, "0.16.8")},
		{"a run over two RayClusters on 0.17", "0.17.0", kai.GangPerRun, gangOfTwo(t, "0.17.0")},
		{"a JobSet on 0.14 as one gang", "0.14.7", kai.GangPerCluster, []any{gangJobSet(t, "0.14.7", kai.GangPerCluster)}},
		{"a JobSet on 0.15 as one gang", "0.15.3", kai.GangPerCluster, []any{gangJobSet(t, "0.15.3", kai.GangPerCluster)}},
		{"a JobSet on 0.16 as one gang, which is the run", "0.16.8", kai.GangPerRun, []any{gangJobSet(t, "0.16.8", kai.GangPerCluster)}},
		{"a JobSet on 0.17 as one gang", "0.17.0", kai.GangPerCluster, []any{gangJobSet(t, "0.17.0", kai.GangPerCluster)}},
		{"a JobSet on 0.12 as no gang", "0.12.23", kai.GangNone, []any{gangJobSet(t, "0.12.23", kai.GangNone)}},
		{"a JobSet on 0.14 as no gang", "0.14.7", kai.GangNone, []any{gangJobSet(t, "0.14.7", kai.GangNone)}},
		{"a JobSet on 0.17 as no gang", "0.17.0", kai.GangNone, []any{gangJobSet(t, "0.17.0", kai.GangNone)}},
		{"a RayCluster on 0.12", "0.12.23", kai.GangPerCluster, []any{rayCluster("rl")}},
		{"two RayClusters on 0.17, a gang each", "0.17.0", kai.GangPerCluster, []any{rayCluster("rl"), rayCluster("gym")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, kai.Refused(kai.Check(parse(t, c.version), c.mode, read(t, c.objects...))))
		})
	}
}

// gangJobSet is the JobSet with the annotations that the version needs.
func gangJobSet(t *testing.T, version string, mode kai.Mode) any {
	t.Helper()
	set := jobSet()
	minMember, err := kai.JobSetMinMember(parse(t, version), mode, 6)
	require.NoError(t, err)
	set.Annotations = minMember.Owner
	for i := range set.Spec.ReplicatedJobs {
		set.Spec.ReplicatedJobs[i].Template.Annotations = minMember.Template
	}
	return set
}

func TestObjectsOfOtherSchedulersAreLeftAlone(t *testing.T) {
	t.Parallel()
	set := jobSet(annotated("alpha.jobset.sigs.k8s.io/exclusive-topology", "rack"))
	for i := range set.Spec.ReplicatedJobs {
		set.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.SchedulerName = "default-scheduler"
	}
	objects := read(t, set)
	require.Empty(t, kai.Gangs(parse(t, "0.17.0"), objects))
	require.Empty(t, kai.Check(parse(t, "0.17.0"), kai.GangNone, objects))
}

func TestCheckingTwiceSaysTheSame(t *testing.T) {
	t.Parallel()
	objects := read(t, documents(t, "gangs.yaml")...)
	first := kai.Check(parse(t, "0.16.8"), kai.GangPerCluster, objects)
	require.NotEmpty(t, first)
	require.Equal(t, first, kai.Check(parse(t, "0.16.8"), kai.GangPerCluster, objects))
}
