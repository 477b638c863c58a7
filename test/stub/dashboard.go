package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// dashboard is the head's HTTP interface.
type dashboard struct{ jobs *jobs }

func newDashboard(j *jobs) http.Handler {
	d := dashboard{j}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": "4", "ray_version": rayVersion, "ray_commit": "stub", "session_name": "stub"})
	})
	mux.Handle("GET /api/gcs_healthz", says("success"))
	mux.HandleFunc("POST /api/jobs/", d.submit)
	mux.HandleFunc("GET /api/jobs/", d.list)
	mux.HandleFunc("GET /api/jobs/{id}", d.withJob(d.describe))
	mux.HandleFunc("GET /api/jobs/{id}/logs", d.withJob(d.logs))
	mux.HandleFunc("POST /api/jobs/{id}/stop", d.withJob(d.stop))
	return mux
}

// submission is the request. The entrypoint is a line for the shell.
type submission struct {
	ID         string `json:"submission_id"`
	OldID      string `json:"job_id,omitempty"`
	Entrypoint string `json:"entrypoint"`
}

func (s submission) id() string {
	switch {
	case s.ID != "":
		return s.ID
	case s.OldID != "":
		return s.OldID
	default:
		return fmt.Sprintf("raysubmit_%d", time.Now().UnixNano())
	}
}

func (d dashboard) submit(w http.ResponseWriter, r *http.Request) {
	var s submission
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.Entrypoint == "" {
		http.Error(w, "entrypoint: missing", http.StatusBadRequest)
		return
	}
	job, isNew := d.jobs.submit(s.id(), s.Entrypoint)
	if !isNew { // as Ray does
		http.Error(w, fmt.Sprintf("Job with submission_id %s already exists. Please use a different submission_id.", job.id), http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"job_id": job.id, "submission_id": job.id})
}

func (d dashboard) list(w http.ResponseWriter, _ *http.Request) {
	list := []jobInfo{}
	for _, job := range d.jobs.all() {
		list = append(list, describe(job))
	}
	writeJSON(w, http.StatusOK, list)
}

func (d dashboard) withJob(handle func(http.ResponseWriter, *http.Request, *job)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		job := d.jobs.get(r.PathValue("id"))
		if job == nil {
			http.Error(w, "Job "+r.PathValue("id")+" does not exist", http.StatusNotFound)
			return
		}
		handle(w, r, job)
	}
}

// jobInfo is Ray's JobDetails, as far as anyone here reads it.
type jobInfo struct {
	Type       string `json:"type"`
	Submission string `json:"submission_id"`
	Status     string `json:"status"`
	Message    string `json:"message"`
	ExitCode   *int   `json:"driver_exit_code"`
	Started    int64  `json:"start_time"` // milliseconds since 1970
	Ended      int64  `json:"end_time,omitempty"`
}

// tailLines is how many lines of the log Ray puts into the message of a job that failed.
const tailLines = 10

// describe has Ray's own words in the message (job_info_client and job_supervisor of 2.52): KubeRay hands on nothing else.
func describe(j *job) jobInfo {
	status, code := j.status()
	info := jobInfo{Type: "SUBMISSION", Submission: j.id, Status: status, Started: j.started.UnixMilli(), Ended: j.endedAt()}
	switch status {
	case running:
		info.Message = "Job is currently running."
	case stopped:
		info.Message = "Job was intentionally stopped."
	case succeeded:
		info.Message = "Job finished successfully."
	case failed:
		info.Message = fmt.Sprintf("Job entrypoint command failed with exit code %d, last available logs (truncated to 20,000 chars):\n%s", code, j.output.tail(tailLines))
	}
	if status == succeeded || status == failed {
		info.ExitCode = &code
	}
	return info
}

func (d dashboard) describe(w http.ResponseWriter, _ *http.Request, j *job) {
	writeJSON(w, http.StatusOK, describe(j))
}

// logs answers with everything printed so far, or with ?follow=true streams until the job has ended.
func (d dashboard) logs(w http.ResponseWriter, r *http.Request, j *job) {
	if r.URL.Query().Get("follow") != "true" {
		all, _, _ := j.output.from(0)
		writeJSON(w, http.StatusOK, map[string]string{"logs": string(all)})
		return
	}
	flush := http.NewResponseController(w)
	j.output.follow(r.Context(), func(more []byte) error {
		if _, err := w.Write(more); err != nil {
			return err
		}
		return flush.Flush()
	})
}

func (d dashboard) stop(w http.ResponseWriter, _ *http.Request, j *job) {
	go j.stop()
	writeJSON(w, http.StatusOK, map[string]bool{"stopped": true})
}
