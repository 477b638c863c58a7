package launch

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxLogBytes bounds what LastLines reads, should the lines be long.
const maxLogBytes = 64 << 10

// LastLines reads the last lines of a failed container's log.
func (l *Launcher) LastLines(ctx context.Context, namespace string, of FailedContainer, lines int) ([]string, error) {
	options := &corev1.PodLogOptions{
		Container: of.Container, Previous: of.Restarted, TailLines: new(int64(lines)), LimitBytes: new(int64(maxLogBytes)),
	}
	data, err := l.core.Pods(namespace).GetLogs(of.Pod, options).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the log of container %s of pod %s: %w", of.Container, of.Pod, err)
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(data), "?"), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}
