package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// markRemoving notes on the run's ConfigMap that its removal has begun. The first time stays. Without a ConfigMap there is nobody to tell.
func (l *Launcher) markRemoving(ctx context.Context, namespace, name string) error {
	items, err := l.list(ctx, configMaps, namespace, name)
	if err != nil {
		return err
	}
	for _, item := range items {
		if item.GetName() != v1alpha1.ConfigMapName(name) || item.GetAnnotations()[v1alpha1.AnnotationRemoving] != "" {
			continue
		}
		annotations := map[string]string{v1alpha1.AnnotationRemoving: time.Now().UTC().Format(time.RFC3339)}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations, "uid": item.GetUID()}})
		if err != nil {
			return fmt.Errorf("marking run %s/%s as being removed: %w", namespace, name, err)
		}
		_, err = l.dynamic.Resource(configMaps.resource).Namespace(namespace).
			Patch(ctx, item.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldManager})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("marking run %s/%s as being removed: %w", namespace, name, err)
		}
	}
	return nil
}

// removing is since when the run is being removed; "" if it is not.
func (s *snapshot) removing() string {
	if s.configMap == nil {
		return ""
	}
	return s.configMap.Annotations[v1alpha1.AnnotationRemoving]
}

// waitingLine says for what Down waits.
func waitingLine(k kind, names []string) string {
	if k != pods {
		return fmt.Sprintf("waiting for %s %s to be gone", k.name, strings.Join(names, ", "))
	}
	if len(names) == 1 {
		return fmt.Sprintf("waiting for pod %s to stop", names[0])
	}
	return fmt.Sprintf("waiting for %d pods to stop", len(names))
}
