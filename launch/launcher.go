package launch

import (
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Launcher acts on runs of one cluster. It is safe for concurrent use.
type Launcher struct {
	dynamic dynamic.Interface
	core    corev1client.CoreV1Interface // for logs, which the dynamic client does not have
	apply   *ssa.ResourceManager
}

// New makes a Launcher with the rights of a configuration. It asks the server nothing yet.
func New(config *rest.Config) (*Launcher, error) {
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	objects, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	// The poller waits for readiness in kstatus' terms, which says nothing about JobSets; Wait has its own.
	manager := ssa.NewResourceManager(objects, nil, ssa.Owner{Field: v1alpha1.FieldManager})
	return &Launcher{dynamic: dynamicClient, core: core, apply: manager}, nil
}

// ofRun selects what belongs to a run.
func ofRun(name string) string {
	return labels.Set{v1alpha1.LabelRun: name}.String()
}
