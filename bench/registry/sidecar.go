package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tandem-rl/tandem/bench/internal/figure"
	"github.com/tandem-rl/tandem/test/podclient"
)

// idle is what `registry serve` costs when it has published one endpoint and one client waits for another.
type idle struct {
	BinaryMiB float64 `json:"binaryMiB"`
	RSSMiB    float64 `json:"rssMiB"`
	Before    int     `json:"requestsBefore"` // until it is idle, the watch among them
	Requests  int     `json:"requests"`       // while idle
	Seconds   float64 `json:"seconds"`        // for so long
}

const (
	settle  = 10 * time.Second
	observe = 30 * time.Second
)

func (b *bench) idleSidecar(ctx context.Context, program string) (i idle, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := os.Stat(program)
	if err != nil {
		return i, err
	}
	i.BinaryMiB = figure.Mebibytes(info.Size())
	s, err := b.newSite(ctx, 0)
	if err != nil {
		return i, err
	}
	count, err := b.countRequestsOf(ctx, "idle-sidecar")
	if err != nil {
		return i, err
	}
	p, err := s.startSidecar(ctx, program, "idle-sidecar")
	if err != nil {
		return i, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := p.use(ctx); err != nil {
		return i, err
	}
	if err := pause(ctx, settle); err != nil {
		return i, err
	}
	if i.Before, err = count(ctx); err != nil {
		return i, err
	}
	began := time.Now()
	if err := pause(ctx, observe); err != nil {
		return i, err
	}
	all, err := count(ctx)
	if err != nil {
		return i, err
	}
	i.Requests, i.Seconds = all-i.Before, time.Since(began).Seconds()
	i.RSSMiB, err = figure.ResidentMiB(p.cmd.Process.Pid)
	return i, err
}

// pause lets time pass, which is what is measured here.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// process is a running sidecar.
type process struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

func (s *site) startSidecar(ctx context.Context, program, account string) (*process, error) {
	dir, err := os.MkdirTemp("", "bench-registry-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // it has read the file when it serves
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := s.writeKubeconfig(ctx, kubeconfig, account); err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p := &process{url: "http://" + address}
	p.cmd = exec.Command(program, "serve", "--run="+s.cfg.Run, "--namespace="+s.namespace, "--kubeconfig="+kubeconfig,
		"--listen="+address, "--publish=gym_head_server=http://10.0.0.1:9090")
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	err = podclient.Until(ctx, func() bool { return p.answers(ctx, "/v1/endpoints/gym_head_server?wait=10s") == nil })
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %s", err, p.stop(), p.log.String())
	}
	return p, nil
}

// use makes one client wait for an endpoint that nobody publishes, until ctx ends.
func (p *process) use(ctx context.Context) error {
	go func() { _ = p.answers(ctx, "/v1/endpoints/vllm_base_urls?wait=10m") }()
	return ctx.Err()
}

func (p *process) answers(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("registry serve: %w: %s", err, p.log.String())
	}
	return nil
}

func (s *site) writeKubeconfig(ctx context.Context, file, name string) error {
	account, err := podclient.NewAccount(ctx, s.admin, s.namespace, name, "get", "list", "watch", "patch")
	if err != nil {
		return err
	}
	cfg, err := account.Config(ctx)
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: cfg.Host, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: s.namespace}},
		CurrentContext: "x",
	}, file)
}

// countRequestsOf returns a function that reads from the API server's metrics how many requests an account has sent: a
// FlowSchema of its own tells them from all others.
func (b *bench) countRequestsOf(ctx context.Context, account string) (func(context.Context) (int, error), error) {
	client, err := kubernetes.NewForConfig(b.admin)
	if err != nil {
		return nil, err
	}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "workload-low"},
			MatchingPrecedence:         500,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{
					Kind:           flowcontrolv1.SubjectKindServiceAccount,
					ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: b.namespace, Name: account},
				}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"}, ClusterScope: true,
				}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
			}},
		},
	}
	if _, err := client.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="` + b.namespace + `",[^}]*\} (\S+)$`)
	return func(ctx context.Context) (int, error) { return sum(ctx, client.RESTClient(), line) }, nil
}

func sum(ctx context.Context, server rest.Interface, line *regexp.Regexp) (int, error) {
	metrics, err := server.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, found := range line.FindAllSubmatch(metrics, -1) {
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return 0, err
		}
		total += int(n)
	}
	return total, nil
}

// freeAddress is one on loopback that nobody listened on a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
