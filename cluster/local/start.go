//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/image"
	"github.com/tandem-rl/tandem/cluster/local/internal/step"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// startDeadline bounds each step of a start; the longest takes a few seconds on two idle cores.
const startDeadline = 2 * time.Minute

// starter carries out the start of one instance.
type starter struct {
	Config
	assets  string
	steps   *step.Printer
	kubectl kubectl
	client  *supervisor.Client
	record  *record
}

// start is the recipe.
func (s *starter) start(ctx context.Context) error {
	for _, st := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Making folders and cgroups", s.prepare},
		{"Keeping packets on the machine", s.guardHost},
		{"Starting namespaces", s.namespaces},
		{"Writing certificates and configuration", s.configure},
		{"Starting etcd", func(ctx context.Context) error { return s.run(ctx, etcd(s.Config, s.assets)) }},
		{"Starting kube-apiserver", func(ctx context.Context) error { return s.run(ctx, apiserver(s.Config, s.assets)) }},
		{"Applying the CRDs of JobSet and KubeRay", func(ctx context.Context) error { return applyCRDs(ctx, s.Config, s.kubectl) }},
		{"Starting the control plane", s.controlPlane},
		{"Starting the node", s.node},
		{"Starting JobSet and KubeRay", s.controllers},
		{"Waiting for the node", s.nodeReady},
		{fmt.Sprintf("Adding %d simulated nodes", s.Nodes), s.simulatedNodes},
	} {
		if s.Nodes == 0 && st.name == "Adding 0 simulated nodes" {
			continue
		}
		err := s.steps.Do(st.name, func() error {
			ctx, cancel := context.WithTimeout(ctx, startDeadline)
			defer cancel()
			return st.do(ctx)
		})
		if err != nil {
			return err
		}
	}
	s.record.Ready = true
	return s.record.write(s.Config)
}

// undo removes what a start that failed has made.
func (s *starter) undo(ctx context.Context) error {
	return s.steps.Do("Taking down what was started", func() error { return clean(ctx, s.Config, s.record) })
}

// prepare writes the record first: a folder without one is nobody's.
func (s *starter) prepare(context.Context) error {
	s.record = &record{Config: s.Config}
	if err := s.record.write(s.Config); err != nil {
		return err
	}
	if err := makeDirs(s.Config); err != nil {
		return err
	}
	return makeCgroups(s.Config)
}

// guardHost comes before anything that could send a packet.
func (s *starter) guardHost(ctx context.Context) error {
	iface, err := defaultInterface()
	if err != nil {
		return err
	}
	s.record.Interface = iface
	if err := s.record.write(s.Config); err != nil {
		return err
	}
	if iface == "" {
		return nil // no way out of the machine
	}
	return s.guard(iface).Install(ctx)
}

func (s *starter) namespaces(ctx context.Context) error {
	r, release, err := spawn(s.Config, s.assets)
	if err != nil {
		return err
	}
	r.Interface = s.record.Interface
	s.record, s.Config = r, r.Config
	if err := r.write(s.Config); err != nil {
		return err
	}
	if err := release(); err != nil {
		return fmt.Errorf("the supervisor ended: %w: %s", err, supervisor.Tail(s.log("supervisor"), 10))
	}
	s.client = supervisor.NewClient(s.dir())
	return awaitSupervisor(ctx, s.Config, r)
}

func (s *starter) configure(context.Context) error {
	for _, write := range []func(Config) error{writePKI, writeKubeconfigs, writeNodeFiles, webhookCertificates} {
		if err := write(s.Config); err != nil {
			return err
		}
	}
	return nil
}

func (s *starter) run(ctx context.Context, specs ...supervisor.Spec) error {
	for _, spec := range specs {
		if err := s.client.Start(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

func (s *starter) controlPlane(ctx context.Context) error {
	dns, err := coredns(s.Config, s.assets)
	if err != nil {
		return err
	}
	return s.run(ctx, controllerManager(s.Config, s.assets), scheduler(s.Config, s.assets), dns)
}

func (s *starter) node(ctx context.Context) error {
	runtime, err := containerd(s.Config)
	if err != nil {
		return err
	}
	if err := s.run(ctx, runtime); err != nil {
		return err
	}
	if err := s.loadPause(ctx); err != nil {
		return err
	}
	if err := s.kubectl.run(ctx, "create", "clusterrolebinding", "tandem-local-kube-proxy",
		"--clusterrole=system:node-proxier", "--user=system:kube-proxy"); err != nil {
		return err
	}
	if err := s.run(ctx, kubelet(s.Config, s.assets), kubeProxy(s.Config, s.assets)); err != nil {
		return err
	}
	if s.GPUs == 0 {
		return nil
	}
	return s.run(ctx, supervisor.Spec{
		Name: "device-plugin", Log: s.log("device-plugin"),
		// The supervisor's own program, wherever on the host it lies.
		Args: []string{"/proc/self/exe", "device-plugin", fmt.Sprintf("--gpus=%d", s.GPUs)},
	})
}

func (s *starter) loadPause(ctx context.Context) error {
	file := s.dir("tmp", "pause.tar")
	err := image.Image{
		Tag:        pauseImage,
		Files:      map[string]string{"/pause": filepath.Join(s.assets, "pause")},
		Entrypoint: []string{"/pause"},
		User:       "65535:65535",
	}.WriteTo(file)
	if err != nil {
		return err
	}
	return importImage(ctx, s.Config, file)
}

func (s *starter) controllers(ctx context.Context) error {
	jobset, err := jobset(s.Config, s.assets)
	if err != nil {
		return err
	}
	if err := s.run(ctx, jobset, kuberay(s.Config, s.assets)); err != nil {
		return err
	}
	return applyWebhooks(ctx, s.Config, s.kubectl)
}

// nodeReady also waits for the GPUs: they appear when the device plugin has registered.
func (s *starter) nodeReady(ctx context.Context) error {
	if err := s.kubectl.run(ctx, "wait", "--for=condition=Ready", "--timeout=90s", "node/"+nodeName); err != nil {
		return err
	}
	if err := s.kubectl.run(ctx, "wait", "--for=create", "--timeout=30s", "serviceaccount/default"); err != nil {
		return err
	}
	if s.GPUs == 0 {
		return nil
	}
	return s.kubectl.run(ctx, "wait", "--timeout=60s", "node/"+nodeName,
		fmt.Sprintf(`--for=jsonpath={.status.allocatable.nvidia\.com/gpu}=%d`, s.GPUs))
}

func (s *starter) simulatedNodes(ctx context.Context) error {
	spec, err := kwok(ctx, s.Config, s.assets)
	if err != nil {
		return err
	}
	if err := s.run(ctx, spec); err != nil {
		return err
	}
	nodes, err := fakeNodes(s.Config)
	if err != nil {
		return err
	}
	file := s.dir("fake-nodes.yaml")
	if err := os.WriteFile(file, nodes, 0o644); err != nil {
		return err
	}
	if err := s.kubectl.run(ctx, "apply", "--server-side", "-f", file); err != nil {
		return err
	}
	return s.kubectl.run(ctx, "wait", "--for=condition=Ready", "--timeout=90s", "node", "-l", "type=kwok")
}
