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
	// Incarnation names the attempt of the run that this process belongs to: a restart of the whole run has another.
	// Empty: the process goes along with whichever is current.
	Incarnation string
	// Shards is the number of ConfigMaps that endpoints are written to, from where a [Folder] carries them into the
	// run's own; see [Shards]. 0, the default: endpoints are written to the run's own.
	Shards int
	// Pods, where set, makes readers ignore what was published by a pod that is gone.
	Pods PodLister
	// OnWrite, where set, is told about every write after its end, for metrics. It must return at once.
	OnWrite func(Write)
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
	problems = append(problems, c.validateShards(), checkIncarnation(c.Incarnation))
	if strings.Contains(c.Publisher.String(), incarnationMark) {
		problems = append(problems, fmt.Errorf("publisher %q: may not hold %q", c.Publisher, incarnationMark))
	}
	return errors.Join(problems...)
}

func (c Config) validateShards() error {
	if c.Shards < 0 || c.Shards > MaxShards {
		return fmt.Errorf("shards %d: want 0 to %d", c.Shards, MaxShards)
	}
	if c.Shards == 0 {
		return nil
	}
	last := c.ShardName(c.Shards - 1)
	for _, problem := range validation.IsDNS1123Subdomain(last) {
		return fmt.Errorf("run %q: ConfigMap name %q: %s", c.Run, last, problem)
	}
	return nil
}

var keySyntax = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// maxKey is the API server's limit on a key of a ConfigMap.
const maxKey = 253

func checkKey(key string) error {
	if len(key) > maxKey || !keySyntax.MatchString(key) || key == "." || strings.HasPrefix(key, "..") {
		return fmt.Errorf("%w %q: use 1 to %d of the characters a-z A-Z 0-9 . _ - and no .. at the start", ErrBadKey, key, maxKey)
	}
	return nil
}
