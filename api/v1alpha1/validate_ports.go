package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// portSet holds the ports of one pod with what uses each; containers of a pod share them.
type portSet map[int32]string

func newPortSet() portSet {
	return portSet{
		RegistryPort: "the registry sidecar",
		MetricsPort:  "Ray's metrics",
		RayAgentPort: "Ray's dashboard agent",
	}
}

func (c *Cluster) validateHeadPorts(path *field.Path) field.ErrorList {
	set, ports := newPortSet(), path.Child("ports")
	set[PeerwatchPort] = "the peerwatch sidecar"
	errs := set.add(ports.Child("gcs"), c.Ports.GCS)
	errs = append(errs, set.add(ports.Child("dashboard"), c.Ports.Dashboard)...)
	errs = append(errs, set.add(ports.Child("client"), c.Ports.Client)...)
	return append(errs, set.addNamed(path.Child("head", "ports"), c.Head.Ports)...)
}

// addNamed adds the ports that a group declares beyond Ray's own.
func (s portSet) addNamed(path *field.Path, ports map[string]int32) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(ports) {
		at := path.Key(name)
		switch name {
		case PortNameGCS, PortNameDash, PortNameClient, PortNameMetrics:
			errs = append(errs, field.Invalid(at, name, "taken by Ray: choose another name"))
		default:
			errs = append(errs, plain(at, name, validation.IsValidPortName(name),
				"must be at most 15 lower-case letters, digits and single -, with a letter among them, and begin and end with a letter or digit")...)
		}
		errs = append(errs, s.add(at, ports[name])...)
	}
	return errs
}

func (s portSet) add(path *field.Path, port int32) field.ErrorList {
	if messages := validation.IsValidPortNum(int(port)); len(messages) > 0 {
		return invalid(path, port, messages)
	}
	if user, taken := s[port]; taken {
		return field.ErrorList{field.Invalid(path, port, fmt.Sprintf("used by %s in the same pod: choose another port", user))}
	}
	s[port] = path.String()
	return nil
}
