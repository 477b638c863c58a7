package pod

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/test/rayline"
)

// submission is one run of the submit script, with a fake `ray` and a head that knows how the job ended.
type submission struct {
	ray     string   // what the fake does
	answer  string   // what the head says of the job; "" for a head that is gone
	env     []string // NAME=VALUE, as the driver's pod has them
	names   []string // of the driver's variables
	command []string
}

func (s submission) start(t *testing.T) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	head := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/jobs/run-1" {
			t.Errorf("unexpected request: %s %s", r.Method, r.URL)
		}
		fmt.Fprint(w, s.answer)
	}))
	t.Cleanup(head.Close)
	if s.answer == "" {
		head.Close()
	}
	argv := append(submitCommand(), head.Listener.Addr().String(), "run-1", strconv.Itoa(len(s.names)))
	argv = append(append(argv, s.names...), s.command...)
	cmd = exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+fakes(t, map[string]string{"ray": s.ray})+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, s.env...)
	cmd.WaitDelay = time.Second
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

const succeeded = `{"status": "SUCCEEDED", "driver_exit_code": 0}`

// submitted returns the words that the script hands to `ray`.
func submitted(t *testing.T, s submission) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "words")
	s.ray, s.answer = fmt.Sprintf(`printf '%%s\0' "$@" >%q`, file), succeeded
	cmd, stderr := s.start(t)
	require.NoError(t, cmd.Run(), stderr)
	words, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
}

// onTheHead runs what was submitted as the head does, and returns what it prints.
func onTheHead(t *testing.T, s submission) string {
	t.Helper()
	words := submitted(t, s)
	require.Equal(t, []string{"--submission-id", "run-1", "--"}, words[4:7])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", rayline.Join(words[7:])).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// awkward words are those that a shell, Ray's way of quoting or both would change.
var awkward = []string{
	"", " ", "a b", "\t", "\n", "two\nlines", "two\nlines and blanks", "$HOME", "${HOME}", "$ $HOME `id`", "`id`", "$(id)", "it's", "it's a", `"quoted"`,
	`"quoted" twice`, `back\slash`, `back\ slash`, `end\`, `end \`, `\\" \\`, `a\"b`, `a\\"b`, `a \"b`, `\$`, `\$ `, "*", "* ?", "~", "#", "# x", "!", "a;b", "a&&b|c>d",
	"(x)", "[x]", "{a,b}", "+env.a={b:[1,2],c:'d'}", "-n", "--flag=a b", "grüße", "grüße mit $", "=", "%s", "^",
}

func TestTheDriverGetsItsWordsUnchanged(t *testing.T) {
	t.Parallel()
	got := onTheHead(t, submission{command: append([]string{"printf", "[%s]"}, awkward...)})
	require.Equal(t, "["+strings.Join(awkward, "][")+"]", got)
	for _, word := range awkward { // alone, so that one mistake cannot mend another
		require.Equal(t, "["+word+"]", onTheHead(t, submission{command: []string{"printf", "[%s]", word}}))
	}
}

func TestTheDriverGetsItsVariables(t *testing.T) {
	t.Parallel()
	for _, value := range awkward {
		got := onTheHead(t, submission{
			env: []string{"FIRST=" + value, "OTHER=not named"}, names: []string{"FIRST"},
			command: []string{"sh", "-c", `printf '%s|%s' "$FIRST" "$OTHER"`},
		})
		require.Equal(t, value+"|", got)
	}
}

func TestTheSubmissionNamesTheHeadAndTheRun(t *testing.T) {
	t.Parallel()
	words := submitted(t, submission{command: []string{"train"}})
	require.Equal(t, []string{"job", "submit", "--address"}, words[:3])
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, words[3])
	require.Equal(t, "train", words[7], "without variables there is no `env`")
}

func TestThePodEndsAsTheJobDid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ray, answer string
		code              int
	}{
		{"a job that succeeded", "exit 0", succeeded, 0},
		{"a job that failed, for which Ray exits 1", "exit 1", `{"status": "FAILED", "driver_exit_code": 7}`, 7},
		{"a job that a signal killed, in Python's words", "exit 1", `{"status": "FAILED", "driver_exit_code": -9}`, 137},
		{"a job that failed before it ran", "exit 1", `{"status": "FAILED", "driver_exit_code": null}`, 1},
		{"a job that was stopped, for which Ray exits 0", "exit 0", `{"status": "STOPPED", "driver_exit_code": null}`, 1},
		{"a job whose log looks like an answer", "exit 1", `{"status": "FAILED", "message": "\"driver_exit_code\": 9", "driver_exit_code": 7}`, 7},
		{"a head that is gone", "exit 1", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, stderr := submission{ray: tt.ray, answer: tt.answer, command: []string{"train"}}.start(t)
			_ = cmd.Run() // the exit code tells
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), stderr)
		})
	}
}

func TestSIGTERMEndsTheSubmission(t *testing.T) {
	t.Parallel()
	cmd, stderr := submission{ray: serves, answer: succeeded, command: []string{"train"}}.start(t)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, len("serving\n")))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var rest bytes.Buffer
	_, err = rest.ReadFrom(out)
	require.NoError(t, err)
	_ = cmd.Wait() // the exit code tells
	require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr)
	require.Contains(t, rest.String(), "told to stop")
}

// JobSet goes by the first Job that fails: a driver that fails because a pod has must not be it, where that pod is started again.
func TestADriverThatFailedWaitsWhereTheRunMayStartAgain(t *testing.T) {
	t.Parallel()
	failed := submission{ray: "exit 1", answer: `{"status": "FAILED", "driver_exit_code": 7}`, env: []string{"TANDEM_HOLD_SECONDS=1"}, command: []string{"train"}}
	cmd, stderr := failed.start(t)
	_ = cmd.Run() // its code is looked at
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "exit code 7 is kept for 1 s")

	done := submission{ray: "exit 0", answer: succeeded, env: []string{"TANDEM_HOLD_SECONDS=3600"}, command: []string{"train"}}
	cmd, stderr = done.start(t)
	require.NoError(t, cmd.Run(), stderr)
}
