package importer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAScriptThatStartsRayIsTakenApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		want   rayStart
	}{
		"flags in every form": {
			"ray start --head --port 6380 --dashboard-host=0.0.0.0 --block --include-dashboard=false",
			rayStart{flags: map[string]string{"head": "true", "port": "6380", "dashboard-host": "0.0.0.0", "block": "true", "include-dashboard": "false"}},
		},
		"variables are put in, and those that nothing else needs are gone": {
			"ulimit -n 65536\nHEAD=rl-0\nPORT=6379\nray start --address=${HEAD}:$PORT --block\n",
			rayStart{flags: map[string]string{"address": "rl-0:6379", "block": "true"}},
		},
		"what comes before is setup": {
			"source /opt/env\nexport A=1\nexec ray start --head",
			rayStart{setup: "source /opt/env\nexport A=1", flags: map[string]string{"head": "true"}},
		},
		"a chain of && is a row of statements": {
			"source /opt/env && ulimit -n 1 && ray start --head && serve --port 1",
			rayStart{setup: "source /opt/env", flags: map[string]string{"head": "true"}, command: "serve --port 1"},
		},
		"what comes after is the command, with the variables and options that it needs": {
			"set -e\nPORT=90\nUNUSED=1\nray start --head\ncd /app\nserve --port $PORT\n",
			rayStart{flags: map[string]string{"head": "true"}, command: "set -e\nPORT=90\ncd /app\nserve --port $PORT"},
		},
		"what only waits is no command": {
			"ray start --head; sleep infinity",
			rayStart{flags: map[string]string{"head": "true"}, kept: []string{"sleep infinity"}},
		},
		"a flag that the shell computes is added in setup": {
			"CORES=$(nproc)\nray start --address=a:1 --num-cpus=$CORES",
			rayStart{
				setup: "CORES=$(nproc)\nray_args+=(--num-cpus=$CORES)",
				flags: map[string]string{"address": "a:1"}, dynamic: []string{"--num-cpus=$CORES"},
			},
		},
		"a variable that is set twice is not known": {
			"A='{'\nA+='}'\nray start --resources=$A",
			rayStart{
				setup: "A='{'\nA+='}'\nray_args+=(--resources=$A)",
				flags: map[string]string{}, dynamic: []string{"--resources=$A"},
			},
		},
		"KubeRay's own command": {
			"ulimit -n 65536; $KUBERAY_GEN_RAY_START_CMD", rayStart{flags: map[string]string{}},
		},
		"KubeRay's own command with more flags": {
			`R="{\"a\": $(count)}"` + "\n" + `eval "$KUBERAY_GEN_RAY_START_CMD --resources='$R' --verbose"`,
			rayStart{
				setup: `R="{\"a\": $(count)}"` + "\n" + `ray_args+=(--resources="$R")`,
				flags: map[string]string{"verbose": "true"}, dynamic: []string{`--resources="$R"`},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseRayStart(test.script)
			require.NotNil(t, got)
			require.Equal(t, test.want, *got)
		})
	}
}

func TestAScriptThatStartsNoRayIsNone(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"", "python train.py", "if true; then ray start; fi", "ray job submit -- x", "echo 'unclosed"} {
		require.Nil(t, parseRayStart(script), script)
	}
}

func TestASubmissionIsTakenApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		want   submission
	}{
		"words": {
			"H=rl\nray job submit --address=http://$H:8265 --no-wait -- python train.py 'a b'",
			submission{command: []string{"python", "train.py", "a b"}, address: "rl:8265", options: []string{"--no-wait"}},
		},
		"without --": {
			"ray job submit --submission-id x python train.py",
			submission{command: []string{"python", "train.py"}, options: []string{"--submission-id x"}},
		},
		"what only the shell knows is left to a shell": {
			"N=$(date)\nray job submit -- train --name $N",
			submission{command: []string{"/bin/bash", "-c", "N=$(date)\ntrain --name $N"}},
		},
		"a pipe into tee keeps the exit code, and finds its folder": {
			"ray job submit -- train 'a b' 2>&1 | tee /logs/x.log",
			submission{command: []string{"/bin/bash", "-o", "pipefail", "-c", "mkdir -p /logs || exit\n{\ntrain 'a b'\n} 2>&1 | tee /logs/x.log\n"}},
		},
		"a script within quotes keeps its lines": {
			"ray job submit -- bash -c \"cd /app && train \\\n   --a=1\" | tee out",
			submission{command: []string{"/bin/bash", "-o", "pipefail", "-c", "{\ncd /app && train \\\n  --a=1\n} | tee out\n"}},
		},
		"what else the script does": {
			"set -e\necho go\nray job submit -- train\nexit 0",
			submission{command: []string{"train"}, others: []string{"echo go", "exit 0"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseSubmission(test.script)
			require.NotNil(t, got)
			require.Equal(t, test.want, *got)
		})
	}
}

func TestAnEntrypointIsACommandOfTheSameMeaning(t *testing.T) {
	t.Parallel()
	for script, want := range map[string][]string{
		"python train.py --lr 1e-5":            {"python", "train.py", "--lr", "1e-5"},
		"exec python 'a b' \"c\"":              {"python", "a b", "c"},
		"cd /app":                              {"/bin/bash", "-c", "cd /app"},
		"ls *.py":                              {"/bin/bash", "-c", "ls *.py"},
		"echo $HOME":                           {"/bin/bash", "-c", "echo $HOME"},
		"A=1 train":                            {"/bin/bash", "-c", "A=1 train"},
		"train > log":                          {"/bin/bash", "-c", "train > log"},
		"train | tee log":                      {"/bin/bash", "-o", "pipefail", "-c", "train | tee log"},
		"if true; then train | tee -a log; fi": {"/bin/bash", "-o", "pipefail", "-c", "if true; then train | tee -a log; fi"},
		"train | grep loss":                    {"/bin/bash", "-c", "train | grep loss"},
		"echo 'unclosed":                       {"/bin/bash", "-c", "echo 'unclosed"},
	} {
		require.Equal(t, want, asCommand(script), script)
	}
}

// The exit code of what is piped into tee: 3 here, and 0 as it was.
func TestTheExitCodeOfAPipeIntoTeeIsKept(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "logs", "driver.log")
	for _, command := range [][]string{
		asCommand("set -e\nmkdir -p " + filepath.Dir(log) + "\nsh -c 'echo said; exit 3' 2>&1 | tee " + log),
		parseSubmission("ray job submit -- sh -c 'echo said; exit 3' 2>&1 | tee " + log).command,
	} {
		err := exec.Command(command[0], command[1:]...).Run()
		exit := (*exec.ExitError)(nil)
		require.ErrorAs(t, err, &exit, command)
		require.Equal(t, 3, exit.ExitCode(), command)
		said, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Equal(t, "said\n", string(said))
		require.NoError(t, os.RemoveAll(filepath.Dir(log)))
	}
}
