package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// gymServer is the head server of NeMo-Gym: it listens only once its environments are up, which --delay plays.
func gymServer(ctx context.Context, args []string, out io.Writer) int {
	f := parseFlags(args)
	delay, err := f.duration("delay")
	if err != nil {
		return complain("gym-server: --delay: %v", err)
	}
	if pause(ctx, delay) != nil {
		return 1
	}
	listener, err := net.Listen("tcp", ":"+f.get("port", "9090"))
	if err != nil {
		return complain("gym-server: %v", err)
	}
	fmt.Fprintln(out, "gym-server: serving", listener.Addr())
	if err := serve(ctx, listener, newGym()); err != nil {
		return complain("gym-server: %v", err)
	}
	return 0
}

func newGym() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /global_config_dict_yaml", says("head_server: {}\n"))
	mux.HandleFunc("GET /server_instances", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, []map[string]string{{"name": "stub_env", "status": "success"}})
	})
	mux.HandleFunc("POST /rollout", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]float64{"reward": 1})
	})
	return mux
}
