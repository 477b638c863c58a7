package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killAfter is how long a job has to end after SIGTERM.
const killAfter = 3 * time.Second

// jobs are the submitted jobs of a head, by submission id.
type jobs struct {
	mu   sync.Mutex
	byID map[string]*job
}

func newJobs() *jobs { return &jobs{byID: map[string]*job{}} }

// The states of a job, in Ray's words.
const (
	running   = "RUNNING"
	stopped   = "STOPPED"
	succeeded = "SUCCEEDED"
	failed    = "FAILED"
)

// job is one entrypoint that runs, or ran, as a child of the head.
type job struct {
	id         string
	entrypoint string // for the shell
	output     *output
	done       chan struct{} // closed by finish when the child has ended

	started time.Time

	mu         sync.Mutex
	cmd        *exec.Cmd
	wasStopped bool
	code       int
	ended      time.Time
}

// submit starts a job. It tells whether the id is new; a second submission changes nothing.
func (j *jobs) submit(id, entrypoint string) (_ *job, isNew bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if old := j.byID[id]; old != nil {
		return old, false
	}
	next := &job{id: id, entrypoint: entrypoint, output: newOutput(), done: make(chan struct{}), started: time.Now()}
	j.byID[id] = next
	next.start()
	return next, true
}

func (j *jobs) get(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.byID[id]
}

func (j *jobs) all() []*job {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]*job, 0, len(j.byID))
	for _, one := range j.byID {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *job) int { return strings.Compare(a.id, b.id) })
	return list
}

func (j *jobs) stopAll() {
	var group sync.WaitGroup
	for _, one := range j.all() {
		group.Go(one.stop)
	}
	group.Wait()
}

// start runs the entrypoint in its own process group, so that stop reaches what it started.
func (j *job) start() {
	j.cmd = exec.Command("sh", "-c", j.entrypoint)
	j.cmd.Stdout, j.cmd.Stderr = j.output, j.output
	j.cmd.Env = append(os.Environ(), "RAY_JOB_SUBMISSION_ID="+j.id)
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	j.cmd.WaitDelay = killAfter
	if err := j.cmd.Start(); err != nil {
		fmt.Fprintln(j.output, "error:", err)
		j.finish(127)
		return
	}
	go j.wait()
}

func (j *job) wait() {
	err := j.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		j.finish(exit.ExitCode())
	case errors.As(err, &exit):
		status, _ := exit.Sys().(syscall.WaitStatus) // always so on Unix
		j.finish(128 + int(status.Signal()))
	case err != nil && j.cmd.ProcessState == nil:
		j.finish(1)
	default:
		j.finish(0)
	}
}

func (j *job) finish(code int) {
	j.mu.Lock()
	j.code, j.ended = code, time.Now()
	j.mu.Unlock()
	close(j.done)
	j.output.close() // last: who followed the output to its end finds the job ended
}

// stop ends the job's process group, politely first.
func (j *job) stop() {
	select {
	case <-j.done:
		return
	default:
	}
	j.mu.Lock()
	j.wasStopped = true
	j.mu.Unlock()
	_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGTERM) // it has just ended
	select {
	case <-j.done:
	case <-time.After(killAfter):
		_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL) // it has ended after all
		<-j.done
	}
}

// status is the job's state; code is meaningful once it has ended by itself.
func (j *job) status() (status string, code int) {
	select {
	case <-j.done:
	default:
		return running, 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.wasStopped:
		return stopped, j.code
	case j.code == 0:
		return succeeded, 0
	default:
		return failed, j.code
	}
}

// endedAt is in milliseconds since 1970; 0 for a job that runs.
func (j *job) endedAt() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended.IsZero() {
		return 0
	}
	return j.ended.UnixMilli()
}
