package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tandem-rl/tandem/registry"
)

// target says which registry a command works on.
type target struct {
	run, namespace, prefix, kubeconfig string
	incarnation                        string
	shards                             int
	checkPods                          bool
	onWrite                            func(registry.Write)
}

func (t *target) bind(flags *flag.FlagSet) {
	flags.StringVar(&t.run, "run", os.Getenv("TANDEM_RUN"), "name of the run (default $TANDEM_RUN)")
	flags.StringVar(&t.namespace, "namespace", os.Getenv("TANDEM_NAMESPACE"), "namespace of the run (default $TANDEM_NAMESPACE, else that of the pod or of the kubeconfig's context)")
	flags.StringVar(&t.prefix, "prefix", registry.DefaultPrefix, "what precedes the run in the ConfigMap's name")
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account, else $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&t.incarnation, "incarnation", os.Getenv("TANDEM_INCARNATION"), "attempt of the run that this process belongs to (default $TANDEM_INCARNATION, else whichever is current)")
	flags.BoolVar(&t.checkPods, "check-pods", true, "ignore what was published by pods that are gone, where the role allows to read pods")
}

// open makes the store of a sidecar, which is told about shards.
func (t *target) open() (*registry.Store, error) {
	cfg, restConfig, err := t.config()
	if err != nil {
		return nil, err
	}
	store, err := registry.New(cfg, restConfig)
	if err != nil {
		return nil, usageError{err}
	}
	return store, nil
}

// config describes the registry. Writes are recorded as by POD_NAME and POD_UID, which are empty outside a pod.
func (t *target) config() (cfg registry.Config, restConfig *rest.Config, err error) {
	restConfig, namespace, err := t.restConfig()
	if err != nil {
		return cfg, nil, err
	}
	cfg = registry.Config{
		Run: t.run, Namespace: cmp.Or(t.namespace, namespace), Prefix: t.prefix,
		Publisher:   registry.Publisher{Pod: os.Getenv("POD_NAME"), UID: os.Getenv("POD_UID")},
		Incarnation: t.incarnation, Shards: t.shards, OnWrite: t.onWrite,
	}
	if t.checkPods {
		cfg.Pods, err = registry.NewPodLister(restConfig, cfg.Namespace, cfg.Run)
	}
	return cfg, restConfig, err
}

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func (t *target) restConfig() (cfg *rest.Config, namespace string, err error) {
	if t.kubeconfig == "" {
		cfg, err = rest.InClusterConfig()
		if err == nil {
			raw, _ := os.ReadFile(namespaceFile) // --namespace may stand in for it
			return cfg, strings.TrimSpace(string(raw)), nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, "", fmt.Errorf("in-cluster configuration: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if cfg, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err = loader.Namespace()
	return cfg, namespace, err
}
