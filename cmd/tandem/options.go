package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/launch"
)

// options are what every command shares.
type options struct {
	genericiooptions.IOStreams
	kube *genericclioptions.ConfigFlags
}

func newOptions(streams genericiooptions.IOStreams) *options {
	return &options{IOStreams: streams, kube: genericclioptions.NewConfigFlags(true)}
}

// addGlobalFlags takes over kubectl's flags and shows the three that are needed daily.
func (o *options) addGlobalFlags(flags *pflag.FlagSet) {
	kube := pflag.NewFlagSet("kube", pflag.ContinueOnError)
	o.kube.AddFlags(kube)
	kube.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains([]string{"kubeconfig", "context", "namespace"}, flag.Name)
	})
	flags.AddFlagSet(kube)
}

// namespace is that of -n, else that of the kubeconfig context.
func (o *options) namespace() (namespace string, explicit bool, err error) {
	namespace, explicit, err = o.kube.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", false, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, explicit && *o.kube.Namespace != "", nil
}

func (o *options) launcher() (*launch.Launcher, error) {
	config, err := o.restConfig()
	if err != nil {
		return nil, hinted{err, "name a file with --kubeconfig or KUBECONFIG"}
	}
	config.QPS, config.Burst = 50, 100 // a person waits; the defaults are for controllers
	return launch.New(config)
}

// restConfig is that of the kubeconfig, or inside a cluster that of the pod. kubectl's resort, a server on localhost:8080 without any
// security, is an error: nobody has meant it for years.
func (o *options) restConfig() (*rest.Config, error) {
	loader := o.kube.ToRawKubeConfigLoader()
	files := loader.ConfigAccess().GetLoadingPrecedence()
	named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" || *o.kube.KubeConfig != ""
	if named && *o.kube.APIServer == "" && !slices.ContainsFunc(files, exists) {
		return nil, fmt.Errorf("no kubeconfig: %s does not exist", strings.Join(files, ", "))
	}
	config, err := o.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	file, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if len(file.Clusters) > 0 || *o.kube.APIServer != "" || config.BearerTokenFile != "" {
		return config, nil
	}
	if found := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !exists(file) }); len(found) > 0 {
		return nil, fmt.Errorf("no kubeconfig: %s names no cluster", strings.Join(found, ", "))
	}
	return nil, fmt.Errorf("no kubeconfig: %s does not exist", strings.Join(files, ", "))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// loadRun reads and checks a Run file, and settles its namespace.
func (o *options) loadRun(file string) (*v1alpha1.Run, error) {
	if file == "" {
		return nil, usageError{errors.New("which run? -f FILE names its file, -f - reads it from stdin")}
	}
	data, err := o.readFile(file)
	if err != nil {
		return nil, &runFileError{file, err}
	}
	run, err := v1alpha1.Load(data)
	if err != nil {
		return nil, &runFileError{file, err}
	}
	if run.Spec.User == "" {
		run.Spec.User = currentUser()
	}
	if err := settleGymURL(run); err != nil {
		return nil, &runFileError{file, err}
	}
	return run, o.settleNamespace(run)
}

func (o *options) readFile(file string) ([]byte, error) {
	in := o.In
	if file != "-" {
		opened, err := os.Open(file)
		if path := (*os.PathError)(nil); errors.As(err, &path) {
			return nil, path.Err // the caller names the file
		}
		defer opened.Close() // it is only read
		in = opened
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile))
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return nil, path.Err
	}
	if len(data) == maxFile {
		return nil, fmt.Errorf("has %d bytes or more, which no Run file or manifest of a run has", maxFile)
	}
	return data, err
}

// maxFile is more than a Run file may have, which is for its decoder to say. A device may go on for ever.
const maxFile = 4 << 20

// settleNamespace fills the namespace that the file leaves open; one that contradicts -n is a mistake, as for kubectl.
func (o *options) settleNamespace(run *v1alpha1.Run) error {
	namespace, explicit, err := o.namespace()
	if err != nil {
		return err
	}
	if run.Metadata.Namespace == "" {
		run.Metadata.Namespace = namespace
	}
	if explicit && run.Metadata.Namespace != namespace {
		return usageError{fmt.Errorf("the file says namespace %s, -n says %s: drop one", run.Metadata.Namespace, namespace)}
	}
	return nil
}

// target names a run by argument or by file.
type target struct{ file string }

func (t *target) addFlag(flags *pflag.FlagSet) {
	flags.StringVarP(&t.file, "filename", "f", "", "the Run file, instead of NAME; - is stdin")
}

// resolve returns the namespace and name of the run that is meant.
func (t *target) resolve(o *options, args []string) (namespace, name string, err error) {
	switch {
	case t.file != "" && len(args) > 0:
		return "", "", usageError{errors.New("give NAME or -f FILE, not both")}
	case t.file != "":
		run, err := o.loadRun(t.file)
		if err != nil {
			return "", "", err
		}
		return run.Metadata.Namespace, run.Metadata.Name, nil
	case len(args) == 0:
		return "", "", usageError{errors.New("which run? give its NAME or -f FILE")}
	default:
		if err := v1alpha1.CheckName(args[0]); err != nil {
			return "", "", usageError{fmt.Errorf("NAME %q: %w", args[0], err)}
		}
		namespace, _, err := o.namespace()
		return namespace, args[0], err
	}
}

// oneOf checks a flag with few values.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usageError{fmt.Errorf("--%s must be %s, not %q", flag, strings.Join(allowed, " or "), value)}
}
