//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/image"
	"github.com/tandem-rl/tandem/cluster/local/internal/step"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// startDeadline bounds each step of a start; the longest takes a few seconds on two idle cores.
const startDeadline = 2 * time.Minute

// Cluster is an instance that is up.
type Cluster struct {
	Config     Config
	Kubeconfig string // the administrator's, for programs on the host
	Assets     string // folder of the built binaries: KUBEBUILDER_ASSETS for envtest, kubectl
}

// Up starts an instance and returns when its node is Ready and all controllers answer. An instance that is up is
// left as it is; what a crash left of one is removed first. On an error, what was started is taken down again, and
// the logs stay readable in the error's text only.
func Up(ctx context.Context, c Config, out io.Writer) (*Cluster, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	if err := Preflight(c); err != nil {
		return nil, err
	}
	p := step.New(out)
	assets, err := Build(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir(), 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, c.dir())
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := readRecord(c)
	if err != nil {
		return nil, err
	}
	if r != nil && r.Ready && r.alive() {
		p.Note("instance %s is up already", c.Name)
		return &Cluster{Config: r.Config, Kubeconfig: c.Kubeconfig(), Assets: assets}, nil
	}
	if r != nil {
		if err := p.Do("Removing what is left of instance "+c.Name, func() error { return clean(ctx, c, r) }); err != nil {
			return nil, err
		}
	}
	s := &starter{Config: c, assets: assets, steps: p, kubectl: kubectl{path: filepath.Join(assets, "kubectl"), kubeconfig: c.Kubeconfig()}}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.undo(context.WithoutCancel(ctx)))
	}
	return &Cluster{Config: s.Config, Kubeconfig: c.Kubeconfig(), Assets: assets}, nil
}

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
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return s.steps.Do("Taking down what was started", func() error { return clean(ctx, s.Config, s.record) })
}

func (s *starter) prepare(context.Context) error {
	if err := makeDirs(s.Config); err != nil {
		return err
	}
	s.record = &record{Config: s.Config}
	if err := s.record.write(s.Config); err != nil {
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, err := spawn(s.Config, self)
	if err != nil {
		return err
	}
	r.Interface = s.record.Interface
	s.record, s.Config = r, r.Config
	if err := r.write(s.Config); err != nil {
		return err
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
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return s.run(ctx, supervisor.Spec{
		Name: "device-plugin", Log: s.log("device-plugin"),
		Args: []string{self, "device-plugin", fmt.Sprintf("--gpus=%d", s.GPUs)},
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
