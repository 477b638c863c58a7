package reap

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// convert reads a typed object as the reaper does.
func convert[T any](t *testing.T, typed any) T {
	t.Helper()
	raw, err := json.Marshal(typed)
	require.NoError(t, err)
	var part T
	require.NoError(t, json.Unmarshal(raw, &part))
	return part
}

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

// preparing is a pod that waits for its sandbox on node-1 since start.
func preparing() *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "w-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "RayCluster", Name: "a-gym", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
			},
			InitContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing")},
			ContainerStatuses:     []corev1.ContainerStatus{waiting("PodInitializing")},
		},
	}
}

func TestWhichPodsPrepare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"one that waits for its sandbox", func(*corev1.Pod) {}, true},
		{"W2 one without init containers", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = nil, []corev1.ContainerStatus{waiting("ContainerCreating")}
		}, true},
		{"one of a kubelet that does not report the sandbox", func(p *corev1.Pod) { p.Status.Conditions = p.Status.Conditions[:1] }, true},
		{"one whose containers are not reported yet", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = nil, nil
		}, true},
		{"one of which the kubelet has reported nothing", func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }, false},
		{"W2 one that is queued", func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Conditions[0].Status = "", corev1.ConditionFalse
		}, false},
		{"one that has its sandbox, and pulls a large image", func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionTrue }, false},
		{"one whose init container runs", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		}, false},
		{"one whose init container has ended", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, false},
		{"one that had started, and lost its sandbox", func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137}
		}, false},
		{"one whose image does not exist", func(p *corev1.Pod) { p.Status.ContainerStatuses[0] = waiting("ImagePullBackOff") }, false},
		{"one that runs", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, false},
		{"one that failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := preparing()
			tc.change(p)
			require.Equal(t, tc.want, convert[pod](t, p).level().Preparing)
		})
	}
}

func TestAPodIsScheduledWhenItsConditionSays(t *testing.T) {
	t.Parallel()
	require.True(t, start.Equal(convert[pod](t, preparing()).level().Scheduled), "and not when it was created")
}

func TestGangs(t *testing.T) {
	t.Parallel()
	p := preparing()
	require.Equal(t, "RayCluster a-gym", convert[pod](t, p).level().Gang)
	p.Labels = map[string]string{"tandem.dev/run": "a"}
	require.Equal(t, "run a", convert[pod](t, p).level().Gang)
	p.Annotations = map[string]string{"pod-group-name": "pg"}
	require.Equal(t, "PodGroup pg", convert[pod](t, p).level().Gang)
	p = preparing()
	p.OwnerReferences = nil
	require.Equal(t, "Pod w-1", convert[pod](t, p).level().Gang)
}

func TestWhichPodsReturn(t *testing.T) {
	t.Parallel()
	p := preparing()
	require.True(t, convert[pod](t, p).level().Returns)
	for _, kind := range []string{"Node", "DaemonSet"} {
		p.OwnerReferences[0].Kind = kind
		require.False(t, convert[pod](t, p).level().Returns, kind)
	}
	p.OwnerReferences[0] = metav1.OwnerReference{Kind: "RayCluster"}
	require.False(t, convert[pod](t, p).level().Returns, "an owner that does not control it")
}

func TestWhichPodsTolerateTheTaint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		toleration corev1.Toleration
		want       bool
	}{
		{corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{corev1.Toleration{Key: TaintKey, Operator: corev1.TolerationOpExists}, true},
		{corev1.Toleration{Key: TaintKey, Value: TaintValue, Effect: corev1.TaintEffectNoSchedule}, true},
		{corev1.Toleration{Key: TaintKey, Value: "false"}, false},
		{corev1.Toleration{Key: TaintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
		{corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}, false},
	} {
		p := preparing()
		p.Spec.Tolerations = []corev1.Toleration{tc.toleration}
		require.Equal(t, tc.want, convert[pod](t, p).level().Tolerates, "%v", tc.toleration)
	}
}

// of is an Event of the kubelet about the pod.
func of(reason string, at time.Time) eventsv1.Event {
	return eventsv1.Event{
		Type: corev1.EventTypeWarning, Reason: reason, Note: "note of " + reason, Regarding: corev1.ObjectReference{UID: "uid-1"},
		DeprecatedSource: corev1.EventSource{Component: "kubelet"}, DeprecatedLastTimestamp: metav1.NewTime(at),
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	sandbox := of("FailedCreatePodSandBox", minute(1))
	cause := Cause{Reason: "FailedCreatePodSandBox", Note: "note of FailedCreatePodSandBox", Last: minute(1)}
	over := cause
	over.Over = true
	series := of("FailedCreatePodSandBox", time.Time{})
	series.EventTime, series.Series = metav1.NewMicroTime(minute(-9)), &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(minute(1))}
	bare := of("FailedCreatePodSandBox", time.Time{})
	bare.CreationTimestamp = metav1.NewTime(minute(1))
	another, forged, deadline := sandbox, sandbox, of("Unhealthy", minute(2))
	another.Regarding.UID = "uid-0"
	forged.ReportingController, forged.DeprecatedSource.Component = "somebody", ""
	deadline.Note = "Readiness probe failed: context deadline exceeded"
	warned := Cause{Warning: "Unhealthy: Readiness probe failed: context deadline exceeded"}
	for _, tc := range []struct {
		name   string
		events []eventsv1.Event
		want   Cause
	}{
		{"none", nil, Cause{}},
		{"one that names a cause", []eventsv1.Event{sandbox}, cause},
		{"the newest counts", []eventsv1.Event{sandbox, of("NetworkNotReady", minute(0))}, cause},
		{"a series", []eventsv1.Event{series}, cause},
		{"one without a time", []eventsv1.Event{bare}, cause},
		{"W3 a probe that spoke of a deadline", []eventsv1.Event{deadline}, warned},
		{"W3 one about an earlier pod of the same name", []eventsv1.Event{another}, Cause{}},
		{"one that is not the kubelet's", []eventsv1.Event{forged}, Cause{}},
		{"a pull after the cause shows that the sandbox is there", []eventsv1.Event{sandbox, of("Pulling", minute(2))}, over},
		{"a pull before the cause shows nothing", []eventsv1.Event{sandbox, of("Pulling", minute(0))}, cause},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var events []event
			for _, e := range tc.events {
				events = append(events, convert[event](t, e))
			}
			got := causeOf("uid-1", events, DefaultPolicy().Causes)
			require.True(t, tc.want.Last.Equal(got.Last))
			got.Last = tc.want.Last
			require.Equal(t, tc.want, got)
		})
	}
}
