package v1alpha1

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (s *Spec) validateClaims(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen, known := map[string]*field.Path{}, map[string]bool{}
	for i := range s.Claims {
		claim, at := &s.Claims[i], path.Child("claims").Index(i)
		errs = append(errs, uniqueName(at.Child("name"), claim.Name, "the name by which groups refer to the claim", seen)...)
		errs = append(errs, claim.validate(at)...)
		known[claim.Name] = true
	}
	used := map[string]bool{}
	for i := range s.Clusters {
		cluster, at := &s.Clusters[i], path.Child("clusters").Index(i)
		errs = append(errs, validateClaimNames(at.Child("head", "claims"), cluster.Head.Claims, known, used)...)
		for j := range cluster.Workers {
			errs = append(errs, validateClaimNames(at.Child("workers").Index(j).Child("claims"), cluster.Workers[j].Claims, known, used)...)
		}
	}
	for i := range s.Claims {
		if name := s.Claims[i].Name; name != "" && !used[name] {
			errs = append(errs, field.Invalid(path.Child("claims").Index(i).Child("name"), name, "no group has it in its claims: add it there, or remove the claim"))
		}
	}
	return errs
}

func validateClaimNames(path *field.Path, names []string, known, used map[string]bool) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]*field.Path{}
	for i, name := range names {
		at := path.Index(i)
		switch {
		case !known[name]:
			errs = append(errs, notFound(at, name, "claim", known))
		case seen[name] != nil:
			errs = append(errs, duplicate(at, name, seen[name])...)
		}
		seen[name], used[name] = at, true
	}
	return errs
}

func (c *Claim) validate(at *field.Path) field.ErrorList {
	sources := 0
	for _, set := range []bool{c.ComputeDomain != nil, c.Devices != nil, c.ResourceClaimTemplate != ""} {
		if set {
			sources++
		}
	}
	if sources != 1 {
		return field.ErrorList{field.Invalid(at, c.Name, fmt.Sprintf(
			"has %d sources: give exactly one of computeDomain, devices and resourceClaimTemplate", sources))}
	}
	switch {
	case c.ComputeDomain != nil:
		return c.ComputeDomain.validate(at.Child("computeDomain"))
	case c.Devices != nil:
		return c.Devices.validate(at.Child("devices"))
	}
	errs := objectName(at.Child("resourceClaimTemplate"), c.ResourceClaimTemplate, "the name of a ResourceClaimTemplate")
	if c.Shared {
		errs = append(errs, field.Invalid(at.Child("shared"), true, "a template that exists is the same for all clusters anyway: remove it"))
	}
	return errs
}

func (d *ComputeDomain) validate(at *field.Path) field.ErrorList {
	errs := groupVersion(at.Child("apiVersion"), d.APIVersion, "resource.nvidia.com")
	if d.NumNodes < 0 {
		errs = append(errs, field.Invalid(at.Child("numNodes"), d.NumNodes, "must not be negative"))
	}
	return errs
}

func (d *DeviceClaim) validate(at *field.Path) field.ErrorList {
	errs := objectName(at.Child("deviceClass"), d.DeviceClass, "the name of a DeviceClass")
	if d.Count < 1 || d.Count > 32 {
		errs = append(errs, field.Invalid(at.Child("count"), d.Count, "must be between 1 and 32, the most devices that a claim can hold"))
	}
	return append(errs, oneOf(at.Child("apiVersion"), d.APIVersion, "resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1")...)
}

func groupVersion(at *field.Path, version, group string) field.ErrorList {
	if name, v, ok := strings.Cut(version, "/"); !ok || name != group || v == "" {
		return field.ErrorList{field.Invalid(at, version, fmt.Sprintf("must be a version of %s, such as %s/v1beta1", group, group))}
	}
	return nil
}
