package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tandem-rl/tandem/test/podclient"
)

// bench is the cluster under measurement.
type bench struct {
	admin     *rest.Config
	pod       *rest.Config // what the pods of a run have: a ServiceAccount's token
	account   *podclient.Account
	maps      typedcorev1.ConfigMapInterface
	namespace string
	sites     int // how many there have been
	log       io.Writer
}

func newBench(ctx context.Context, kubeconfig string, log io.Writer) (*bench, error) {
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	admin.QPS = -1
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, err
	}
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-registry-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	account, err := podclient.NewAccount(ctx, admin, namespace.Name, "publisher", "get", "list", "watch", "patch")
	if err != nil {
		return nil, err
	}
	pod, err := account.Config(ctx)
	if err != nil {
		return nil, err
	}
	return &bench{
		admin: admin, pod: pod, account: account, namespace: namespace.Name, log: log,
		maps: client.CoreV1().ConfigMaps(namespace.Name),
	}, nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, "• "+format+"\n", args...) }

// measure does everything, one thing after the other.
func (b *bench) measure(ctx context.Context, sizes []int, sidecar string) (*report, error) {
	most := slices.Max(sizes)
	r := &report{Date: time.Now().UTC().Format(time.DateOnly), CPUs: runtime.NumCPU(), Largest: most}
	for _, n := range sizes {
		for _, a := range []algorithm{library, fiveTries, blindPatch} {
			if err := b.addContest(ctx, r, a, n); err != nil {
				return nil, err
			}
		}
	}
	if err := b.addContest(ctx, r, libraryJoin, most); err != nil {
		return nil, err
	}
	var err error
	if r.OneWriteMs, err = b.oneWrite(ctx); err != nil {
		return nil, err
	}
	for _, n := range []int{1, 100, 1000} {
		for _, how := range []waiting{watching, polling} {
			if n > most {
				continue
			}
			b.say("%d waiters, %s", n, how.name)
			notice, err := b.notify(ctx, how, n)
			if err != nil {
				return nil, fmt.Errorf("%d waiters, %s: %w", n, how.name, err)
			}
			r.Notices = append(r.Notices, notice)
		}
	}
	b.say("an idle sidecar")
	r.Sidecar, err = b.idleSidecar(ctx, sidecar)
	return r, err
}

func (b *bench) addContest(ctx context.Context, r *report, a algorithm, n int) error {
	b.say("%d writers at once: %s", n, a.name)
	c, err := b.contest(ctx, a, n)
	if err != nil {
		return fmt.Errorf("%d writers, %s: %w", n, a.name, err)
	}
	r.Contests = append(r.Contests, c)
	return nil
}
