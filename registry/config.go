package registry

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultPrefix is what NeMo-RL puts before the run's name.
const DefaultPrefix = "nemo-rl-endpoints-"

// Config says which registry, and who writes to it.
type Config struct {
	// Run is the name of the run (NeMo-RL calls it the job id): a DNS-1123 subdomain.
	Run string
	// Namespace holds the ConfigMap. There is no default: guessing it reads another run's registry.
	Namespace string
	// Prefix, followed by Run, is the ConfigMap's name; default [DefaultPrefix].
	Prefix string
	// Publisher is recorded with every key that this process writes. Empty for people and tools.
	Publisher Publisher
}

// Publisher is the pod that writes.
type Publisher struct{ Pod, UID string }

func (p Publisher) String() string {
	if p.Pod == "" && p.UID == "" {
		return ""
	}
	return p.Pod + "/" + p.UID
}

// Name is the ConfigMap's name.
func (c Config) Name() string {
	if c.Prefix == "" {
		return DefaultPrefix + c.Run
	}
	return c.Prefix + c.Run
}

func (c Config) validate() error {
	var problems []error
	if c.Run == "" {
		problems = append(problems, errors.New("run: required"))
	}
	for _, problem := range validation.IsDNS1123Label(c.Namespace) {
		problems = append(problems, fmt.Errorf("namespace %q: %s", c.Namespace, problem))
	}
	for _, problem := range validation.IsDNS1123Subdomain(c.Name()) {
		problems = append(problems, fmt.Errorf("run %q: ConfigMap name %q: %s", c.Run, c.Name(), problem))
	}
	return errors.Join(problems...)
}

var keySyntax = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// maxKey is the API server's limit on a key of a ConfigMap.
const maxKey = 253

func checkKey(key string) error {
	if len(key) > maxKey || !keySyntax.MatchString(key) || key == "." || strings.HasPrefix(key, "..") {
		return fmt.Errorf("%w %q: use 1 to %d of the characters a-z A-Z 0-9 . _ - and do not start with ..", ErrBadKey, key, maxKey)
	}
	return nil
}
