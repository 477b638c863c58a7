package v1alpha1

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *Cluster) validatePublish(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.Publish {
		at, p := path.Index(i), &c.Publish[i]
		errs = append(errs, p.validateKey(at.Child("key"))...)
		errs = append(errs, p.validateSource(at)...)
		errs = append(errs, p.validateWhen(at)...)
		errs = append(errs, c.validatePublisher(at, p)...)
	}
	return errs
}

func (p *Publish) validateKey(path *field.Path) field.ErrorList {
	switch p.Key {
	case "":
		return field.ErrorList{field.Required(path, "the key of the endpoint in the registry")}
	case ErrorKey:
		return field.ErrorList{field.Invalid(path, p.Key, "this key says that the run failed: choose another")}
	default:
		return plain(path, p.Key, validation.IsConfigMapKey(p.Key), "must be at most 253 letters, digits, -, _ and .")
	}
}

// validateSource checks that there is exactly one of url and file.
func (p *Publish) validateSource(path *field.Path) field.ErrorList {
	switch {
	case p.URL == "" && p.File == "":
		return field.ErrorList{field.Required(path.Child("url"), "give url (a fixed address) or file (the app writes its URL into "+PublishDir+")")}
	case p.URL != "" && p.File != "":
		return field.ErrorList{field.Invalid(path.Child("file"), p.File, "url is set too: remove one")}
	case p.File != "":
		return p.validateFile(path.Child("file"))
	default:
		return p.validateURL(path.Child("url"))
	}
}

func (p *Publish) validateFile(path *field.Path) field.ErrorList {
	if strings.ContainsAny(p.File, `/\`) || p.File == "." || p.File == ".." {
		return field.ErrorList{field.Invalid(path, p.File, "must be a plain file name; the folder is always "+PublishDir)}
	}
	return nil
}

// reference is a variable that Kubernetes expands in the pod; any value stands in for it here.
var reference = regexp.MustCompile(`\$\([A-Za-z_][A-Za-z0-9_]*\)`)

func (p *Publish) validateURL(path *field.Path) field.ErrorList {
	u, err := url.Parse(reference.ReplaceAllString(p.URL, "1"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return field.ErrorList{field.Invalid(path, p.URL, "must be an address such as http://$(POD_IP):9090")}
	}
	return nil
}

func (p *Publish) validateWhen(path *field.Path) field.ErrorList {
	if p.When == nil {
		return nil
	}
	get, at := p.When.HTTPGet, path.Child("when", "httpGet")
	if get == nil {
		return field.ErrorList{field.Required(at, "the condition; remove `when` to publish at once")}
	}
	var errs field.ErrorList
	if !strings.HasPrefix(get.Path, "/") {
		errs = append(errs, field.Invalid(at.Child("path"), get.Path, "must start with /"))
	}
	switch {
	case get.Port == 0 && p.File == "":
		errs = append(errs, field.Required(at.Child("port"), "the port that is asked; it may be left out with file only"))
	case get.Port != 0:
		errs = append(errs, invalid(at.Child("port"), get.Port, validation.IsValidPortNum(int(get.Port)))...)
	}
	return errs
}

// validatePublisher checks that the publishing pods exist, and that one key has one writer.
func (c *Cluster) validatePublisher(path *field.Path, p *Publish) field.ErrorList {
	pods := c.podsByGroup()
	if p.Group != "" {
		if _, ok := pods[p.Group]; !ok {
			known := map[string]bool{}
			for name := range pods {
				known[name] = true
			}
			return field.ErrorList{notFound(path.Child("group"), p.Group, "group in this cluster", known)}
		}
	}
	var writers int32
	for group, n := range pods {
		if p.publishedBy(group) {
			writers += n
		}
	}
	switch {
	case writers == 0:
		return field.ErrorList{field.Invalid(path.Child("key"), p.Key, "no pod publishes it: the cluster has no such worker pods; name a group with pods")}
	case writers > 1 && !p.Member:
		return field.ErrorList{field.Invalid(path.Child("key"), p.Key, fmt.Sprintf("%d pods would overwrite each other: set member: true to publish a list", writers))}
	}
	return nil
}

func (c *Cluster) podsByGroup() map[string]int32 {
	pods := map[string]int32{GroupHead: 1}
	for i := range c.Workers {
		if c.Workers[i].Name != GroupHead { // which is reported as such
			pods[c.Workers[i].Name] = c.Workers[i].Pods()
		}
	}
	return pods
}

// validatePublishedKeys refuses a key with two entries, unless both are members of its list and are published by different groups.
func (s *Spec) validatePublishedKeys(path *field.Path) field.ErrorList {
	type entry struct {
		cluster int
		group   string
		member  bool
	}
	first := map[string]*field.Path{}
	var errs field.ErrorList
	seen := map[string][]entry{}
	for i, cluster := range s.Clusters {
		for j, p := range cluster.Publish {
			this := entry{cluster: i, group: p.Group, member: p.Member}
			at := path.Child("clusters").Index(i).Child("publish").Index(j).Child("key")
			for _, other := range seen[p.Key] {
				if !this.member || !other.member || this == other {
					errs = append(errs, duplicate(at, p.Key, first[p.Key])...)
					break
				}
			}
			if first[p.Key] == nil {
				first[p.Key] = at
			}
			seen[p.Key] = append(seen[p.Key], this)
		}
	}
	return errs
}
