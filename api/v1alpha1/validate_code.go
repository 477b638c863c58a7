package v1alpha1

import (
	"net/url"
	"path"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var commitHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func (c *Code) validate(at *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	switch {
	case c.Path == "":
		errs = append(errs, field.Required(at.Child("path"), "where the code is seen, for example /opt/nemo-rl"))
	case !path.IsAbs(c.Path) || path.Clean(c.Path) == "/":
		errs = append(errs, field.Invalid(at.Child("path"), c.Path, "must be a folder, and begin with /"))
	}
	switch {
	case c.Git == nil && c.PersistentVolumeClaim == nil:
		errs = append(errs, field.Required(at, "git or persistentVolumeClaim; leave out code for that of the image"))
	case c.Git != nil && c.PersistentVolumeClaim != nil:
		errs = append(errs, field.Invalid(at.Child("persistentVolumeClaim"), c.PersistentVolumeClaim.ClaimName, "git is set too: remove one"))
	case c.Git != nil:
		errs = append(errs, c.Git.validate(at.Child("git"))...)
	default:
		claim := at.Child("persistentVolumeClaim")
		errs = append(errs, objectName(claim.Child("claimName"), c.PersistentVolumeClaim.ClaimName, "the name of a PersistentVolumeClaim")...)
		mount := Mount{Path: "/", SubPath: c.PersistentVolumeClaim.SubPath}
		errs = append(errs, mount.validate(claim, map[string]*field.Path{})...)
	}
	return errs
}

func (g *GitSource) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	u, err := url.Parse(g.URL)
	switch {
	case g.URL == "":
		errs = append(errs, field.Required(at.Child("url"), "the address of the repository"))
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "ssh" && u.Scheme != "git" && u.Scheme != "http"):
		errs = append(errs, field.Invalid(at.Child("url"), g.URL, "must be an address such as https://git.example/team/rl.git or ssh://git@git.example/team/rl.git"))
	case u.User != nil && u.Scheme != "ssh":
		errs = append(errs, field.Invalid(at.Child("url"), u.Redacted(), "holds credentials, which everybody who can read the pod would see: put a token into a Secret and name it in git.token"))
	}
	switch {
	case g.Commit == "":
		errs = append(errs, field.Required(at.Child("commit"), "the full hash of the commit"))
	case !commitHash.MatchString(g.Commit):
		errs = append(errs, field.Invalid(at.Child("commit"), g.Commit, "must be the full hash of a commit (`git rev-parse HEAD`): a branch or tag may mean other code for a pod that starts later"))
	}
	if g.Image != "" {
		errs = append(errs, must(at.Child("image"), g.Image, imageReference)...)
	}
	return append(errs, validateKey(at.Child("token"), g.Token)...)
}
