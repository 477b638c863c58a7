package kai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestVersionsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0.17":    "0.17.0 (0.17, newest patch known)",
		"0.16":    "0.16.8 (0.16, newest patch known)",
		"v0.12":   "0.12.23 (0.12, newest patch known)",
		"0.16.8":  "0.16.8",
		"v0.15.3": "0.15.3",
		"0.17.1":  "0.17.1",
	} {
		require.Equal(t, want, parse(t, text).String())
	}
}

func TestVersionsThatAreNoneAreRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":           `KAI version "": write 0.MINOR or 0.MINOR.PATCH, for example "0.17"`,
		"latest":     "write 0.MINOR or 0.MINOR.PATCH",
		"1.2":        "write 0.MINOR or 0.MINOR.PATCH",
		"0.17.0-rc1": "write 0.MINOR or 0.MINOR.PATCH",
		"0.20.1":     `KAI version "0.20.1" is retracted`,
		"v0.20":      "older than 0.12.0; write the version that `helm list` shows",
		"0.9":        "older than 0.12, the oldest one described here; upgrade to one of 0.12, 0.13, 0.14, 0.15, 0.16, 0.17",
		"0.18":       `newer than 0.17, the newest one described here; write "0.17" if it groups pods in the same way`,
	} {
		_, err := kai.Parse(text)
		require.ErrorContains(t, err, want)
	}
}

func TestFeaturesOfTheVersionsThatWereRead(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]kai.Features{
		"0.12.11": {JobSet: kai.JobSetNone, JobSetMinMember: kai.UnitNone, RuntimeClassInjected: true},
		"0.12.23": {JobSet: kai.JobSetNone, JobSetMinMember: kai.UnitNone, RaySubGroups: true, RuntimeClassInjected: true},
		"0.13.4":  {JobSet: kai.JobSetFlat, JobSetMinMember: kai.UnitNone, RaySubGroups: true, RuntimeClassInjected: true, QueueWithoutParent: true},
		"0.14.7": {
			JobSet: kai.JobSetFlat, JobSetMinMember: kai.UnitPods, JobMinMember: true, RaySubGroups: true, RayTopologyPerGroup: true,
			RuntimeClassInjected: true, QueueWithoutParent: true,
		},
		"0.15.3": {
			SkipPodGrouper: true, JobSet: kai.JobSetFlatMin1, JobSetMinMember: kai.UnitPods, JobMinMember: true, RaySubGroups: true,
			RayTopologyPerGroup: true, MinSubGroup: true, LeafMinMemberRequired: true, SubGroupNamePattern: true,
			UnknownSubGroupReported: true, RuntimeClassInjected: true, QueueWithoutParent: true,
		},
		"0.16.8": {
			SkipPodGrouper: true, JobSet: kai.JobSetTree, JobSetMinMember: kai.UnitReplicatedJobs, TemplateMinMember: true, JobMinMember: true,
			RaySubGroups: true, RayTopologyPerGroup: true, MinSubGroup: true, LeafMinMemberRequired: true, SubGroupNamePattern: true,
			UnknownSubGroupReported: true, TerminalPodsHidden: true, QueueWithoutParent: true,
		},
		"0.17.0": {
			SkipPodGrouper: true, JobSet: kai.JobSetTree, JobSetMinMember: kai.UnitReplicatedJobs, TemplateMinMember: true, JobMinMember: true,
			RaySubGroups: true, RayTopologyPerGroup: true, MinSubGroup: true, LeafMinMemberRequired: true, SubGroupNamePattern: true,
			UnknownSubGroupReported: true, TerminalPodsHidden: true, QueueWithoutParent: true, StalenessGracePeriod: true, TopologyAlias: true,
		},
	} {
		require.Equal(t, want, parse(t, version).Features(), version)
	}
}

func TestPodsThatSucceededVanishInSomeReleasesOnly(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"0.15.3": false, "0.16.0": false, "0.16.1": false, "0.16.2": true, "0.17.0": true, "0.17.1": false} {
		require.Equal(t, want, parse(t, version).Features().TerminalPodsHidden, version)
	}
}

func TestAMinorAloneSaysWhatNotAllItsPatchesDo(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"pods that succeeded vanish from the scheduler: from 0.16.2, before 0.17.1"}, parse(t, "0.16").Caveats())
	require.Equal(t, []string{"pods that succeeded vanish from the scheduler: from 0.16.2, before 0.17.1"}, parse(t, "0.17").Caveats())
	require.Equal(t, []string{"subgroups for the groups of a RayCluster: from 0.12.12"}, parse(t, "0.12").Caveats())
	require.Len(t, parse(t, "0.14").Caveats(), 2)
	require.Empty(t, parse(t, "0.15").Caveats())
	require.Empty(t, parse(t, "0.16.8").Caveats(), "a version in full hides nothing")
}
