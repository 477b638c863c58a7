package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// publishDir is where an app hands its URL to the sidecar of its pod.
const publishDir = "/run/tandem/publish"

// vllmServer serves completions on a port that it learns at run time, and publishes where.
func vllmServer(ctx context.Context, args []string, out io.Writer) int {
	f := parseFlags(args)
	listener, err := net.Listen("tcp", ":"+f.get("port", "0"))
	if err != nil {
		return complain("vllm-server: %v", err)
	}
	base := fmt.Sprintf("http://%s/v1", net.JoinHostPort(podIP(), fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)))
	if name := f.get("publish", ""); name != "" {
		if err := writeAtomically(filepath.Join(f.get("publish-dir", publishDir), name), base+"\n"); err != nil {
			return complain("vllm-server: %v", err)
		}
	}
	fmt.Fprintln(out, "vllm-server: serving", base)
	if err := serve(ctx, listener, newVLLM()); err != nil {
		return complain("vllm-server: %v", err)
	}
	return 0
}

func podIP() string {
	if ip := os.Getenv("POD_IP"); ip != "" {
		return ip
	}
	return "127.0.0.1"
}

// writeAtomically lets no reader see half a file.
func writeAtomically(path, text string) error {
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func newVLLM() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /health", says("ok"))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]string{{"id": "stub", "object": "model"}}})
	})
	mux.HandleFunc("POST /v1/completions", complete)
	return mux
}

// complete echoes the prompt.
func complete(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Prompt string `json:"prompt"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "text_completion", "model": "stub",
		"choices": []map[string]any{{"index": 0, "text": request.Prompt, "finish_reason": "stop"}},
	})
}
