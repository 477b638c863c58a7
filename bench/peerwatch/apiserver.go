package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// auditPolicy lets the API server write down every request of the runs' pods.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// apiServer is a kube-apiserver and an etcd that waits for the disk, which write down what they are asked.
type apiServer struct {
	*envtest.Environment
	log string // the audit log
}

func newAPIServer(ctx context.Context, bin, dir string) (*apiServer, error) {
	assets, err := output(ctx, filepath.Join(bin, "tandem-local"), "assets")
	if err != nil {
		return nil, err
	}
	kuberay, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/ray-project/kuberay/ray-operator")
	if err != nil {
		return nil, err
	}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	s := &apiServer{log: filepath.Join(dir, "audit.log"), Environment: &envtest.Environment{
		BinaryAssetsDirectory: assets,
		ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths:     []string{filepath.Join(kuberay, "config/crd/bases")},
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: time.Minute}, // the default of 10 s is too short for a busy machine
	}}
	s.ControlPlane.Etcd = &envtest.Etcd{}
	s.ControlPlane.Etcd.Configure().Disable("unsafe-no-fsync")
	s.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).Set("audit-log-path", s.log).Set("audit-log-maxsize", "10000")
	if _, err := s.Start(); err != nil {
		return nil, fmt.Errorf("kube-apiserver and etcd from %s: %w", assets, err)
	}
	return s, nil
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
