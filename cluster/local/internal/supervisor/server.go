//go:build linux

// Package supervisor is the first program inside an instance's namespaces: it makes the mounts and the
// network that the node needs, then starts and stops processes for [Client] over a Unix socket, and forwards
// the API server's port on the host's loopback into the namespace.
//
// It knows nothing of Kubernetes. It restarts nothing: a process that ended stays in the list with how it ended.
// When it ends, the kernel ends every process of its PID namespace, and with the last of them go the
// mounts, the interfaces and the packet rules of the instance. Nothing of it can be left behind but files and cgroups.
package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// File descriptors that are handed over.
const (
	ListenerFD = 3 // the host's listener for the API server
	GateFD     = 4 // a pipe; one byte comes when the supervisor may begin
)

// SocketName is the control socket's name in the state folder.
const SocketName = "supervisor.sock"

// Serve waits at the gate, makes the surroundings of n, then serves until ctx ends.
func Serve(ctx context.Context, n Namespace) error {
	host, err := takeOver()
	if err != nil {
		return err
	}
	if err := n.enter(); err != nil {
		return fmt.Errorf("prepare the namespaces: %w", err)
	}
	control, err := net.Listen("unix", filepath.Join(n.State, SocketName))
	if err != nil {
		return err
	}
	go forward(host, n.APIServer)
	server := &http.Server{Handler: handler(newTable(), n), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(control); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// takeOver takes the listener, which no process that is started later inherits, and passes the gate.
func takeOver() (net.Listener, error) {
	file, gate := os.NewFile(ListenerFD, "listener"), os.NewFile(GateFD, "gate")
	defer file.Close()
	defer gate.Close()
	host, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("take over the listener: %w", err)
	}
	if _, err := gate.Read(make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("the start was given up before this process was recorded: %w", err)
	}
	return host, nil
}

func handler(t *table, n Namespace) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /processes", func(w http.ResponseWriter, _ *http.Request) { reply(w, t.list(), nil) })
	mux.HandleFunc("POST /processes", func(w http.ResponseWriter, r *http.Request) {
		var spec Spec
		if err := json.NewDecoder(r.Body).Decode(&spec); err != nil {
			reply(w, nil, err)
			return
		}
		process, err := t.start(spec)
		reply(w, process, err)
	})
	mux.HandleFunc("POST /processes/{name}", func(w http.ResponseWriter, r *http.Request) {
		process, err := t.startAgain(r.PathValue("name"))
		reply(w, process, err)
	})
	mux.HandleFunc("DELETE /processes/{name}", func(w http.ResponseWriter, r *http.Request) {
		sig := syscall.SIGTERM
		if r.URL.Query().Get("signal") == "KILL" {
			sig = syscall.SIGKILL
		}
		ctx, cancel := context.WithTimeout(r.Context(), 20*time.Second)
		defer cancel()
		reply(w, struct{}{}, t.stop(ctx, r.PathValue("name"), sig))
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, probe(r.Context(), r.URL.Query().Get("url")))
	})
	mux.HandleFunc("GET /guard", func(w http.ResponseWriter, r *http.Request) {
		dropped, err := n.guard().Dropped(r.Context())
		reply(w, dropped, err)
	})
	return mux
}

// reply writes v, or the error as {"error": ...} with a 409.
func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		v = failure{Error: err.Error()}
	}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		fmt.Fprintln(os.Stderr, "reply:", err) // the client is gone; nobody else can be told
	}
}

type failure struct {
	Error string `json:"error"`
}

// forward hands each connection of the host's listener to the API server inside. It ends with the listener.
func forward(host net.Listener, target string) {
	for {
		client, err := host.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.DialTimeout("tcp", target, 5*time.Second)
			if err != nil {
				return // the client sees its connection closed, as it does when the API server is down
			}
			defer server.Close()
			done := make(chan struct{}, 2)
			pipe := func(dst, src net.Conn) {
				_, _ = io.Copy(dst, src) // either side may close at any moment: that is how connections end
				if tcp, ok := dst.(*net.TCPConn); ok {
					_ = tcp.CloseWrite() // the other side may be gone
				}
				done <- struct{}{}
			}
			go pipe(server, client)
			go pipe(client, server)
			<-done
			<-done
		}()
	}
}
