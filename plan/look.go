package plan

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// questions are asked so many at a time.
const questions = 8

// Look asks a cluster all that Judge wants to know. The error is that the cluster does not answer at all.
func Look(ctx context.Context, config *rest.Config, p *Plan) (*Sight, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	version, err := typed.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", config.Host, err)
	}
	l := &looker{plan: p, typed: typed, dynamic: objects, sight: Sight{
		Server: config.Host, Version: version.GitVersion,
		Refs: map[string]Seen[*unstructuredObject]{}, BindingModes: map[string]string{},
	}}
	l.kinds() // first: the others ask for the versions that are served
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(questions)
	for _, ask := range l.questions() {
		group.Go(func() error {
			ask(groupCtx)
			return nil // each question keeps its own error
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &l.sight, ctx.Err()
}

// looker asks the questions. Answers to several questions of one kind are guarded by mu.
type looker struct {
	plan    *Plan
	typed   kubernetes.Interface
	dynamic dynamic.Interface

	mu    sync.Mutex
	sight Sight
}

func (l *looker) questions() []func(context.Context) {
	list := []func(context.Context){l.namespace, l.nodes, l.pods, l.quotas, l.rules}
	for i := range l.plan.Needs {
		list = append(list, func(ctx context.Context) { l.reference(ctx, &l.plan.Needs[i]) })
	}
	l.sight.Access = l.plan.rights()
	for i := range l.sight.Access {
		list = append(list, func(ctx context.Context) { l.access(ctx, &l.sight.Access[i]) })
	}
	switch l.plan.Scheduler {
	case v1alpha1.SchedulerKAI:
		list = append(list, l.queues, l.topology, func(context.Context) {
			l.sight.PodGroupFields.Value, l.sight.PodGroupFields.Err = l.podGroupFields()
		})
	case v1alpha1.SchedulerKueue:
		list = append(list, l.localQueue)
	}
	return list
}

// kinds asks once for each group and version.
func (l *looker) kinds() {
	l.sight.Served = map[schema.GroupVersionKind]Seen[bool]{}
	lists := map[schema.GroupVersion]Seen[*metav1.APIResourceList]{}
	for _, kind := range l.plan.kinds() {
		gv := kind.GroupVersion()
		if _, asked := lists[gv]; !asked {
			list, err := l.typed.Discovery().ServerResourcesForGroupVersion(gv.String())
			if apierrors.IsNotFound(err) {
				list, err = &metav1.APIResourceList{}, nil
			}
			lists[gv] = Seen[*metav1.APIResourceList]{list, err}
		}
		served := Seen[bool]{Err: lists[gv].Err}
		if served.Err == nil {
			for _, resource := range lists[gv].Value.APIResources {
				served.Value = served.Value || resource.Kind == kind.Kind
			}
		}
		l.sight.Served[kind] = served
	}
}

func (l *looker) namespace(ctx context.Context) {
	namespace, err := l.typed.CoreV1().Namespaces().Get(ctx, l.plan.Namespace, metav1.GetOptions{})
	l.sight.Namespace.Value, l.sight.Namespace.Err = namespace, err
}

// pageSize keeps answers of large clusters small.
const pageSize = 500

func (l *looker) nodes(ctx context.Context) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := l.typed.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			l.sight.Nodes.Err = err
			return
		}
		l.sight.Nodes.Value = append(l.sight.Nodes.Value, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return
		}
	}
}

// pods asks for those that hold something: they are on a node and have not ended.
func (l *looker) pods(ctx context.Context) {
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
	for {
		page, err := l.typed.CoreV1().Pods("").List(ctx, options)
		if err != nil {
			l.sight.Pods.Err = err
			return
		}
		l.sight.Pods.Value = append(l.sight.Pods.Value, page.Items...)
		if options.Continue = page.Continue; options.Continue == "" {
			return
		}
	}
}

func (l *looker) quotas(ctx context.Context) {
	list, err := l.typed.CoreV1().ResourceQuotas(l.plan.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		l.sight.Quotas.Err = err
		return
	}
	l.sight.Quotas.Value = list.Items
}
