package launch

import (
	"fmt"
	"maps"
	"slices"
)

// transitions describes what is new in a status, a line each, in the order in which a run comes up. It is a pure function.
func transitions(last, next Status) []string {
	lines := endpointTransitions(last, next)
	if !next.Phase.Ended() { // that pods leave a run that has ended is no news
		lines = append(clusterTransitions(last, next), lines...)
	}
	if next.Phase.Ended() || next.Phase == last.Phase && (next.Reason == last.Reason || next.Reason == "") {
		return lines // the end is what Wait returns
	}
	line := fmt.Sprintf("run %s: %s", next.Name, next.Phase)
	if next.Reason != "" {
		line += ": " + next.Reason
	}
	return append(lines, line)
}

// after is what has been told once a status has: a reason stays told while the phase lasts, since it may come and go with one pod.
func (s Status) after(told Status) Status {
	if s.Phase == told.Phase && s.Reason == "" {
		s.Reason = told.Reason
	}
	return s
}

func clusterTransitions(last, next Status) []string {
	before := map[string]ClusterStatus{}
	for _, cluster := range last.Clusters {
		before[cluster.Name] = cluster
	}
	var lines []string
	for _, cluster := range next.Clusters {
		was := before[cluster.Name]
		if was.Head.Ready != cluster.Head.Ready {
			lines = append(lines, fmt.Sprintf("cluster %s: head %s ready", cluster.Name, cluster.Head))
		}
		if was.Workers.Ready != cluster.Workers.Ready {
			lines = append(lines, fmt.Sprintf("cluster %s: workers %s ready", cluster.Name, cluster.Workers))
		}
	}
	return lines
}

func endpointTransitions(last, next Status) []string {
	if next.Phase.Ended() {
		return nil
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(next.Endpoints)) {
		if last.Endpoints[key] != next.Endpoints[key] {
			lines = append(lines, fmt.Sprintf("endpoint %s: %s", key, next.Endpoints[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(last.Endpoints)) {
		if _, still := next.Endpoints[key]; !still {
			lines = append(lines, fmt.Sprintf("endpoint %s: withdrawn", key))
		}
	}
	return lines
}
