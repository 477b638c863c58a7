package tmpdeps

import (
	_ "github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	_ "github.com/fluxcd/pkg/ssa"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	_ "github.com/ray-project/kuberay/ray-operator/pkg/client/applyconfiguration/ray/v1"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "gotest.tools/v3/golden"
	_ "k8s.io/cli-runtime/pkg/genericclioptions"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/klog/v2"
	_ "k8s.io/utils/clock/testing"
	_ "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	_ "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
	_ "sigs.k8s.io/yaml"
)
