package registry

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// GymKey is the key of Gym's head server. [Store.Set] writes its value as [NormalizeURL] gives it.
const GymKey = "gym_head_server"

// DefaultGymPort is where Gym's head server listens unless it is told otherwise. It is added to an address without a
// scheme; readers differ in what they would assume (NeMo-RL takes 8080).
const DefaultGymPort = 11000

var schemePorts = map[string]int{"http": 80, "https": 443}

// NormalizeURL turns the forms in which people give the address of a server into one URL with a port and without a
// slash at its end: host, host:port, an IPv6 address with or without brackets, [address]:port, http(s)://host:port/path.
// Without a scheme it is http, and the port defaults to defaultPort; with one the port defaults to that of the scheme.
func NormalizeURL(address string, defaultPort int) (string, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		text = "http://" + bracketed(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", badURL(address, err.Error())
	}
	if strings.Contains(address, "://") {
		defaultPort = schemePorts[u.Scheme]
	}
	if err := checkURL(u); err != nil {
		return "", badURL(address, err.Error())
	}
	port, err := portOf(u, defaultPort)
	if err != nil {
		return "", badURL(address, err.Error())
	}
	u.Host = net.JoinHostPort(u.Hostname(), port)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u.String(), nil
}

func badURL(address, problem string) error {
	return fmt.Errorf("%w: address %.80q: %s", ErrBadValue, address, problem)
}

// bracketed puts a bare IPv6 address into the brackets that URLs want.
func bracketed(address string) string {
	host, path, hasPath := strings.Cut(address, "/")
	if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
		return address
	}
	if hasPath {
		path = "/" + path
	}
	return "[" + host + "]" + path
}

func checkURL(u *url.URL) error {
	switch {
	case schemePorts[u.Scheme] == 0:
		return fmt.Errorf("scheme %q: want http or https", u.Scheme)
	case u.User != nil:
		return fmt.Errorf("a user or password does not belong into the registry")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("a query or fragment cannot be part of a base URL")
	}
	return checkHost(u.Host, u.Hostname())
}

// checkHost takes names and addresses. Whatever holds a colon outside of brackets is ambiguous: fd00::1:9090.
func checkHost(hostPort, host string) error {
	if strings.HasPrefix(hostPort, "[") {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() || ip.Zone() != "" {
			return fmt.Errorf("%q is no IPv6 address", host)
		}
		return nil
	}
	if strings.Contains(host, ":") {
		return fmt.Errorf("put the IPv6 address into brackets: [fd00::1]:9090")
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if !isLabel(label) {
			return fmt.Errorf("%q is no host name", host)
		}
	}
	return nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func portOf(u *url.URL, defaultPort int) (string, error) {
	if u.Port() == "" {
		return strconv.Itoa(defaultPort), nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return "", fmt.Errorf("port %q: want 1 to 65535", u.Port())
	}
	return strconv.FormatUint(port, 10), nil
}
