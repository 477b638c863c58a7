package peerwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// PostMortemAnnotation of the run's ConfigMap holds a [PostMortem] as JSON. Package launch has the key too.
const PostMortemAnnotation = "tandem.dev/post-mortem"

// Bounds of a post-mortem. It lives in the ConfigMap that every pod of the run reads.
const (
	postMortemContainers = 3
	postMortemLines      = 20
	postMortemBytes      = 4 << 10 // of each container
	// logBytes are read of the last lines, so that the end of long ones is among them.
	logBytes = 256 << 10
	// logTimeout leaves time to write what is known when a node does not send its log.
	logTimeout = tellTimeout / 2
)

// PostMortem is what is left of a failed run's pods once they are deleted. The first one of an incarnation stays.
type PostMortem struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	// Incarnation is the registry's, empty if it has none.
	Incarnation string `json:"incarnation,omitempty"`
	// Containers are those that failed: that of the pod that the reason names, then heads, workers, the driver's; at most
	// three.
	Containers []Remains `json:"containers"`
}

// Remains are what is kept of one container.
type Remains struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Reason    string `json:"reason,omitempty"` // OOMKilled, Error
	// Log is the last lines of its log: at most 20, and 4 KiB. LogError says why there is none.
	Log      string `json:"log,omitempty"`
	LogError string `json:"logError,omitempty"`
}

// remains are the containers that failed, in the order of causes, and how to read their logs. First comes that of the
// pod that the reason names: who reports his own failure does so before his container has ended. It is a pure function.
func remains(p Policy, reason string, obs Observation) (list []Remains, logs []kubeclient.LogOptions) {
	pods := slices.Concat(obs.allPods(Peer.heads), obs.allPods(Peer.workers), obs.Driver.Pods)
	named := namedPod(reason, pods)
	if i := slices.IndexFunc(pods, func(pod Pod) bool { return pod.Name == named }); i > 0 {
		first := pods[i]
		pods = slices.Insert(slices.Delete(pods, i, i+1), 0, first)
	}
	for _, pod := range pods {
		for i, c := range pod.mains(p) {
			failed := c.failure() != "" || (pod.Name == named && i == 0)
			if !failed || len(list) == postMortemContainers {
				continue
			}
			r := Remains{Pod: pod.Name, Container: c.Name}
			if c.Exit != nil {
				r.ExitCode, r.Reason = &c.Exit.Code, c.Exit.Reason
			}
			list = append(list, r)
			logs = append(logs, kubeclient.LogOptions{Container: c.Name, Previous: c.Again, Lines: postMortemLines, Bytes: logBytes})
		}
	}
	return list, logs
}

// namedPod is the name of the pod that a reason names. Of two that it holds, the longer one is meant.
func namedPod(reason string, pods []Pod) (name string) {
	for _, pod := range pods {
		if len(pod.Name) > len(name) && strings.Contains(reason, pod.Name) {
			name = pod.Name
		}
	}
	return name
}

// mains are the containers that are no sidecars.
func (p Pod) mains(policy Policy) []Container {
	return slices.DeleteFunc(slices.Clone(p.Containers), func(c Container) bool { return slices.Contains(policy.Sidecars, c.Name) })
}

func (o Observation) allPods(of func(Peer) []Pod) []Pod {
	var pods []Pod
	for _, c := range o.Peers {
		pods = append(pods, of(c)...)
	}
	return pods
}

// postMortem saves what failed. Where nothing ended with a failure there is nothing to save.
func (w *Watcher) postMortem(ctx context.Context, action Action, obs Observation) error {
	list, logs := remains(w.cfg.Policy, action.Reason, obs)
	if len(list) == 0 {
		return nil
	}
	reading, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	var problems []error
	for i, err := range w.readLogs(reading, list, logs) {
		if err != nil {
			list[i].LogError = clip(err.Error(), maxNote)
			problems = append(problems, err)
		}
	}
	record := PostMortem{Time: time.Now().UTC(), Reason: action.Reason, Containers: list}
	problems = append(problems, w.persist(ctx, func() (done bool, err error) { return w.savePostMortem(ctx, record, action.begins) }))
	return errors.Join(problems...)
}

// readLogs fills in the logs, side by side.
func (w *Watcher) readLogs(ctx context.Context, list []Remains, logs []kubeclient.LogOptions) []error {
	errs := make([]error, len(list))
	forEach(len(list), func(i int) {
		raw, err := w.client.Log(ctx, list[i].Pod, logs[i])
		list[i].Log = lastLines(raw)
		switch {
		case apierrors.IsForbidden(err):
			errs[i] = fmt.Errorf("log of pod %s: the role needs verb %q on pods/log: %w", list[i].Pod, "get", err)
		case err != nil:
			errs[i] = fmt.Errorf("log of container %q of pod %s: %w", list[i].Container, list[i].Pod, err)
		}
	})
	return errs
}

// keptAttempts is how many post-mortems of attempts before a restart are kept.
const keptAttempts = 3

// attemptAnnotation holds the post-mortem of the attempt that a restart ended.
func attemptAnnotation(restart int) string {
	return fmt.Sprintf("%s.%d", PostMortemAnnotation, restart)
}

// postMortemNotes are the annotations of a post-mortem: of the run's end, or of the attempt that a restart ended, with
// which an old one goes.
func postMortemNotes(text string, restart int) map[string]any {
	if restart == 0 {
		return map[string]any{PostMortemAnnotation: text}
	}
	return map[string]any{attemptAnnotation(restart): text, attemptAnnotation(restart - keptAttempts): nil}
}

// savePostMortem writes the annotation unless there is one of this incarnation. restart is the number of the one that
// ended the attempt; 0 if the run is at its end.
func (w *Watcher) savePostMortem(ctx context.Context, record PostMortem, restart int) (done bool, err error) {
	name := w.store.Name()
	var cm configMap
	if err := w.client.Get(ctx, kubeclient.ConfigMaps, name, &cm); err != nil {
		return !kubeclient.Retryable(err), w.explainConfigMap("get", err)
	}
	record.Incarnation = cm.Metadata.Annotations[registry.IncarnationAnnotation]
	var earlier PostMortem
	if text := cm.Metadata.Annotations[PostMortemAnnotation]; restart == 0 && json.Unmarshal([]byte(text), &earlier) == nil && earlier.Incarnation == record.Incarnation {
		return true, nil
	}
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": cm.Metadata.ResourceVersion, // another watcher may have been faster
		"annotations":     postMortemNotes(record.text(), restart),
	}}
	err = w.client.MergePatch(ctx, kubeclient.ConfigMaps, name, patch, nil)
	return err == nil || !(kubeclient.Retryable(err) || apierrors.IsConflict(err)), w.explainConfigMap("patch", err)
}

// explainConfigMap names the object and, where that is the cause, the missing rule. Who removed the registry wants nothing kept.
func (w *Watcher) explainConfigMap(verb string, err error) error {
	name := w.store.Name()
	switch {
	case err == nil, kubeclient.IsObjectNotFound(err, name):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("post-mortem: the role needs verb %q on configmaps with resourceNames [%s]: %w", verb, name, err)
	}
	return fmt.Errorf("post-mortem: %s configmap %s: %w", verb, name, err)
}

// text keeps < > & as they are: logs are read by people.
func (p PostMortem) text() string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // strings, numbers and a time of this age
	return strings.TrimRight(buffer.String(), "\n")
}

// colour is an escape sequence of a terminal.
var colour = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// lastLines are the last lines of a log, as text. Of a line that a progress bar wrote over and over the last state is
// kept; colours and other control characters are not.
func lastLines(raw []byte) string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(raw), "?")) {
		line = colour.ReplaceAllString(strings.TrimRight(line, "\r\n"), "")
		lines = append(lines, strings.Map(printable, line[strings.LastIndexByte(line, '\r')+1:]))
	}
	lines = lines[max(0, len(lines)-postMortemLines):]
	text := strings.Join(lines, "\n")
	if cut := len(text) - postMortemBytes; cut > 0 {
		text = strings.ToValidUTF8(text[cut:], "")
	}
	return text
}

func printable(r rune) rune {
	if r != '\t' && unicode.IsControl(r) {
		return -1
	}
	return r
}
