package schedule

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// ErrRefused: the scheduler would not start the run as it is asked to.
var ErrRefused = errors.New("the scheduler would not start this run")

// Check refuses rendered objects that KAI would never start, or would take down again, by the rules of its version.
func (s *Scheduling) Check(objects []*unstructured.Unstructured) error {
	violations, err := s.Violations(objects)
	if err != nil {
		return err
	}
	var problems []error
	for _, violation := range kai.Refused(violations) {
		problems = append(problems, violation)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w (KAI %s):\n%w", ErrRefused, s.kai, errors.Join(problems...))
}

// Violations are all that KAI does not do well with, warnings among them; none under other schedulers.
func (s *Scheduling) Violations(objects []*unstructured.Unstructured) ([]kai.Violation, error) {
	if !s.uses(v1alpha1.SchedulerKAI) {
		return nil, nil
	}
	list := make([]any, len(objects))
	for i := range objects {
		list[i] = objects[i]
	}
	read, err := kai.Read(list...)
	if err != nil {
		return nil, fmt.Errorf("reading the rendered objects: %w", err)
	}
	return kai.Check(s.kai, s.mode(), read), nil
}

// mode is what package kai calls the gang. A JobSet is one owner.
func (s *Scheduling) mode() kai.Mode {
	switch s.run.Spec.Scheduling.Gang {
	case v1alpha1.GangNone:
		return kai.GangNone
	case v1alpha1.GangRun:
		if s.hasPodGroup() {
			return kai.GangPerRun
		}
	}
	return kai.GangPerCluster
}
