package kai

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// PodGroupName is the name of a run's PodGroup, unique in the cluster: the scheduler knows PodGroups by name alone and would take two
// runs of one name in two namespaces for one gang. The hash tells runs apart that differ only where the name was cut, or in where the
// dash between namespace and run is.
func PodGroupName(namespace, run string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + run))
	hash := "-" + hex.EncodeToString(sum[:4])
	name := "tandem-" + namespace + "-" + run
	if limit := validation.DNS1123LabelMaxLength - len(hash); len(name) > limit {
		name = strings.TrimRight(name[:limit], "-.")
	}
	return name + hash
}

// SubGroupName is the leaf of a cluster's group; it is a label value of the group's pods.
func SubGroupName(cluster, group string) string { return cluster + "-" + group }
