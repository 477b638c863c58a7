package launch

import (
	"encoding/json"
	"fmt"
)

// Annotations of the run's ConfigMap. Packages peerwatch and registry have the keys too.
const (
	annotationPostMortem  = "tandem.dev/post-mortem"
	annotationIncarnation = "tandem.dev/incarnation"
)

// EndedContainer is what peerwatch kept of a failed container before its pod was deleted.
type EndedContainer struct {
	// Pod is empty for the driver of a RayJob, which was a process of the head.
	Pod       string `json:"pod"`
	Container string `json:"container"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Log is the last lines of its log; LogError says why there is none.
	Log      string `json:"log,omitempty"`
	LogError string `json:"logError,omitempty"`
}

// String says which container it was and how it ended.
func (c EndedContainer) String() string {
	text := "the driver"
	if c.Pod != "" {
		text = fmt.Sprintf("container %s of pod %s", c.Container, c.Pod)
	}
	if c.ExitCode == nil {
		return text
	}
	text += fmt.Sprintf(" ended with exit code %d", *c.ExitCode)
	if c.Reason != "" && c.Reason != "Error" {
		text += fmt.Sprintf(" (%s)", c.Reason)
	}
	return text
}

// postMortem is what was kept of this incarnation of the run. An annotation that cannot be read is worth nothing.
func (s *snapshot) postMortem() []EndedContainer {
	if s.configMap == nil {
		return nil
	}
	var kept struct {
		Incarnation string           `json:"incarnation"`
		Containers  []EndedContainer `json:"containers"`
	}
	err := json.Unmarshal([]byte(s.configMap.Annotations[annotationPostMortem]), &kept)
	if err != nil || kept.Incarnation != s.configMap.Annotations[annotationIncarnation] {
		return nil
	}
	return kept.Containers
}
