package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// portSpan is a range of ports and the field that asks for it.
type portSpan struct {
	path      *field.Path
	value     PortRange
	low, high int32
}

// validatePortRanges refuses ranges that meet each other or a port of the file: which of the two a process got would be chance.
func (s *Spec) validatePortRanges(path *field.Path) field.ErrorList {
	at := path.Child("portRanges")
	var errs field.ErrorList
	var spans []portSpan
	for _, one := range []portSpan{
		{path: at.Child("ray"), value: s.PortRanges.Ray},
		{path: at.Child("generation"), value: s.PortRanges.Generation},
		{path: at.Child("gym"), value: s.PortRanges.Gym},
	} {
		if one.value == "" {
			continue
		}
		low, high, err := one.value.Bounds()
		if err != nil {
			errs = append(errs, field.Invalid(one.path, one.value, err.Error()))
			continue
		}
		one.low, one.high = low, high
		for _, other := range spans {
			if one.low <= other.high && other.low <= one.high {
				errs = append(errs, field.Invalid(one.path, one.value, fmt.Sprintf("meets %s, which is %s: choose ranges without common ports", other.path, other.value)))
			}
		}
		spans = append(spans, one)
	}
	for i := range s.Clusters {
		errs = append(errs, s.Clusters[i].validateOutside(path.Child("clusters").Index(i), spans)...)
	}
	return errs
}

// validateOutside reports ports of a cluster that lie within a range.
func (c *Cluster) validateOutside(at *field.Path, spans []portSpan) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, port int32) {
		for _, span := range spans {
			if span.low <= port && port <= span.high {
				errs = append(errs, field.Invalid(path, port, fmt.Sprintf("lies within %s, which is %s: choose another port or range", span.path, span.value)))
			}
		}
	}
	ports := at.Child("ports")
	check(ports.Child("gcs"), c.Ports.GCS)
	check(ports.Child("dashboard"), c.Ports.Dashboard)
	check(ports.Child("client"), c.Ports.Client)
	for _, name := range sortedKeys(c.Head.Ports) {
		check(at.Child("head", "ports").Key(name), c.Head.Ports[name])
	}
	for i := range c.Workers {
		for _, name := range sortedKeys(c.Workers[i].Ports) {
			check(at.Child("workers").Index(i).Child("ports").Key(name), c.Workers[i].Ports[name])
		}
	}
	return errs
}
