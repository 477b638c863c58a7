package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/child"
)

// kubectl runs the built kubectl as the administrator.
type kubectl struct {
	path       string
	kubeconfig string
}

func (k kubectl) run(ctx context.Context, args ...string) error {
	_, err := k.output(ctx, args...)
	return err
}

// retry runs kubectl until it succeeds or ctx ends.
func (k kubectl) retry(ctx context.Context, args ...string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := k.run(ctx, args...)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (k kubectl) output(ctx context.Context, args ...string) (string, error) {
	cmd := child.Command(ctx, k.path, append([]string{"--kubeconfig=" + k.kubeconfig}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
