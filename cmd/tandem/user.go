package main

import (
	"os"
	"os/user"
	"regexp"
	"strings"
)

var notInLabel = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)

// currentUser is the owner of a run whose file names none: USER, else the user of the operating system, made fit for a label. It is empty
// where there is neither, in a container with a user id that has no name.
func currentUser() string {
	name := os.Getenv("USER")
	if name == "" {
		if current, err := user.Current(); err == nil {
			name = current.Username
		}
	}
	name = notInLabel.ReplaceAllString(name, "-")
	if len(name) > 63 {
		name = name[:63]
	}
	return strings.Trim(name, "-_.")
}
