package registry

import "context"

// PodLister tells which publishers are gone.
type PodLister interface {
	// Gone returns those whose pod is not there any more. Where it is not known, nobody is gone.
	Gone(ctx context.Context, publishers []Publisher) []Publisher
}
