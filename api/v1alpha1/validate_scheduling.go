package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (s *Spec) validateScheduling(at *field.Path) field.ErrorList {
	scheduling := &s.Scheduling
	errs := oneOf(at.Child("scheduler"), scheduling.Scheduler, SchedulerDefault, SchedulerKAI, SchedulerKueue, SchedulerWorkload)
	errs = append(errs, oneOf(at.Child("gang"), scheduling.Gang, GangRun, GangCluster, GangNone)...)
	if scheduling.PriorityClass != "" {
		errs = append(errs, objectName(at.Child("priorityClass"), scheduling.PriorityClass, "the name of a PriorityClass")...)
	}
	if len(errs) > 0 {
		return append(errs, scheduling.validateQueue(at.Child("queue"))...)
	}
	errs = append(errs, scheduling.validateQueue(at.Child("queue"))...)
	errs = append(errs, s.validateGang(at.Child("gang"))...)
	return append(errs, scheduling.validateKAIOnly(at)...)
}

func (s *Scheduling) hasQueues() bool {
	return s.Scheduler == SchedulerKAI || s.Scheduler == SchedulerKueue
}

func (s *Scheduling) validateQueue(at *field.Path) field.ErrorList {
	switch {
	case s.Scheduler == SchedulerKAI && s.Queue == "":
		return field.ErrorList{field.Required(at, "kai places pods by queue: name a leaf queue")}
	case s.Scheduler == SchedulerKueue && s.Queue == "":
		return field.ErrorList{field.Required(at, "kueue admits by queue: name a LocalQueue of the namespace")}
	case s.Queue != "" && !s.hasQueues():
		return field.ErrorList{field.Invalid(at, s.Queue, fmt.Sprintf("the %s scheduler knows no queues: set scheduler: kai or kueue, or remove the queue", s.Scheduler))}
	case s.Queue != "":
		return plain(at, s.Queue, validation.IsValidLabelValue(s.Queue), "must be at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit")
	}
	return nil
}

// validateGang refuses gangs that the scheduler cannot form.
func (s *Spec) validateGang(at *field.Path) field.ErrorList {
	gang := s.Scheduling.Gang
	switch {
	case gang == GangNone:
	case s.Scheduling.Scheduler == SchedulerDefault:
		return field.ErrorList{field.Invalid(at, gang, "the default scheduler places pods one by one: set scheduler: kai, kueue or workload, or gang: none")}
	case s.Scheduling.Scheduler == SchedulerKueue && gang == GangRun && !s.oneObject():
		return field.ErrorList{field.Invalid(at, gang, "kueue admits each RayCluster by itself, so that one may hold its quota while another waits for ever: "+
			"set backend: jobset, which is one object, or gang: cluster if you accept that")}
	case gang == GangCluster && s.Backend == BackendJobSet:
		return field.ErrorList{field.Invalid(at, gang, "a JobSet is one object, and so is its gang: write gang: run")}
	}
	return nil
}

// validateKAIOnly refuses what only KAI understands under another scheduler.
func (s *Scheduling) validateKAIOnly(at *field.Path) field.ErrorList {
	if s.Scheduler == SchedulerKAI {
		return s.Topology.validate(at.Child("topology"))
	}
	var errs field.ErrorList
	only := func(is bool, name string, value any) {
		if is {
			errs = append(errs, field.Invalid(at.Child(name), value, fmt.Sprintf("only kai knows it, and the scheduler is %s: remove it, or set scheduler: kai", s.Scheduler)))
		}
	}
	only(s.KAIVersion != "", "kaiVersion", s.KAIVersion)
	only(s.Topology != nil, "topology", s.topologyName())
	only(s.Preemptible != nil, "preemptible", s.Preemptible)
	if s.StalenessGracePeriod != nil {
		only(true, "stalenessGracePeriod", s.StalenessGracePeriod.Duration.String())
	}
	return errs
}

func (s *Scheduling) topologyName() string {
	if s.Topology == nil {
		return ""
	}
	return s.Topology.Name
}

func (t *Topology) validate(at *field.Path) field.ErrorList {
	if t == nil {
		return nil
	}
	errs := objectName(at.Child("name"), t.Name, "the name of a Topology")
	if t.Required == "" && t.Preferred == "" {
		errs = append(errs, field.Required(at.Child("required"), "the level (a node label) whose domain the pods must share, or preferred; KAI never places a pod with a topology and no level"))
	}
	errs = append(errs, validateLevel(at.Child("required"), t.Required)...)
	return append(errs, validateLevel(at.Child("preferred"), t.Preferred)...)
}

func validateLevel(at *field.Path, level string) field.ErrorList {
	if level == "" {
		return nil
	}
	return plain(at, level, validation.IsQualifiedName(level), "must be the node label of a level, such as topology.example/rack")
}
