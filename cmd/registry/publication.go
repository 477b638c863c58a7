package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// publication is one endpoint of this pod.
type publication struct {
	key    string
	member bool   // the key holds a list that the URL joins
	url    string // fixed, or
	file   string // written by the app once it knows
	when   string // URL that must answer 2xx, or its path on the published URL; empty: no such condition
	tcp    string // HOST:PORT that must accept connections; empty: no such condition
}

// publications collects the flags that describe what to publish.
type publications struct {
	list []publication
	when map[string]string
	tcp  map[string]string
}

func (p *publications) bind(flags *flag.FlagSet) {
	p.when, p.tcp = map[string]string{}, map[string]string{}
	flags.Func("publish", "KEY=URL: set KEY once its condition holds (repeatable)", p.add(func(v string) publication {
		return publication{url: v}
	}))
	flags.Func("publish-member", "KEY=URL: join URL into the list of KEY (repeatable)", p.add(func(v string) publication {
		return publication{url: v, member: true}
	}))
	flags.Func("publish-from-file", "KEY=PATH: as --publish, with the URL that appears in PATH (repeatable)", p.add(func(v string) publication {
		return publication{file: v}
	}))
	flags.Func("publish-member-from-file", "KEY=PATH: as --publish-member, with the URL that appears in PATH (repeatable)", p.add(func(v string) publication {
		return publication{file: v, member: true}
	}))
	flags.Func("when-http", "KEY=URL: the condition of KEY, a URL that answers 2xx; a path (/health) is taken on the published URL", into(p.when))
	flags.Func("when-tcp", "KEY=HOST:PORT: the condition of KEY, an address that accepts connections", into(p.tcp))
}

func into(conditions map[string]string) func(string) error {
	return func(arg string) error {
		key, value, err := split(arg)
		conditions[key] = value
		return err
	}
}

func (p *publications) add(parse func(value string) publication) func(string) error {
	return func(arg string) error {
		key, value, err := split(arg)
		pub := parse(value)
		pub.key = key
		p.list = append(p.list, pub)
		return err
	}
}

func split(arg string) (key, value string, err error) {
	key, value, found := strings.Cut(arg, "=")
	if !found || key == "" || value == "" {
		return "", "", fmt.Errorf("%q: want KEY=VALUE", arg)
	}
	return key, value, nil
}

// complete joins conditions and publications, and returns all problems.
func (p *publications) complete() ([]publication, error) {
	var problems []error
	used := map[string]bool{}
	list := make([]publication, 0, len(p.list))
	for _, pub := range p.list {
		pub.when, pub.tcp = p.when[pub.key], p.tcp[pub.key]
		if used[pub.key] {
			problems = append(problems, fmt.Errorf("key %q is published twice", pub.key))
		}
		if pub.when != "" && pub.tcp != "" {
			problems = append(problems, fmt.Errorf("key %q: --when-http or --when-tcp, not both", pub.key))
		}
		used[pub.key] = true
		list = append(list, pub)
	}
	problems = append(problems, unused("--when-http", p.when, used)...)
	problems = append(problems, unused("--when-tcp", p.tcp, used)...)
	return list, errors.Join(problems...)
}

func unused(flag string, conditions map[string]string, used map[string]bool) (problems []error) {
	for _, key := range slices.Sorted(maps.Keys(conditions)) {
		if !used[key] {
			problems = append(problems, fmt.Errorf("%s for key %q, which is not published", flag, key))
		}
	}
	return problems
}

// condition is what to probe before address is published, and while it is. A nil probe is no condition.
func (p publication) condition(address string) (what string, ask probe, err error) {
	switch {
	case p.tcp != "":
		return p.tcp, probeTCP(p.tcp), nil
	case p.when == "":
		return "", nil, nil
	case !strings.HasPrefix(p.when, "/"):
		return p.when, probeHTTP(p.when), nil
	}
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return "", nil, fmt.Errorf("key %q: cannot take %s on %q, which is not a URL with a host", p.key, p.when, address)
	}
	at := (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: p.when}).String()
	return at, probeHTTP(at), nil
}
