package gymconfig

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tandem-rl/tandem/registry"
)

// DefaultRemotePort is where NeMo-RL looks for a remote Gym whose address names no port.
const DefaultRemotePort = 8080

// NormalizeRemoteURL turns what people write as env.nemo_gym's remote_gym_url into one form, http://HOST:PORT: host, host:port,
// an IPv6 address with or without brackets, http://host:port/v1, slashes at the end. Without a port it is
// [DefaultRemotePort], with http:// as without, since that is where NeMo-RL looks. Gym speaks plain HTTP and is served at the
// root, so https and paths other than /v1 (a habit from inference servers) are mistakes.
func NormalizeRemoteURL(address string) (string, error) {
	const scheme = "http://"
	rest := strings.TrimSpace(address)
	if len(rest) >= len(scheme) && strings.EqualFold(rest[:len(scheme)], scheme) {
		rest = rest[len(scheme):]
	}
	if strings.Contains(rest, "://") {
		return "", fmt.Errorf("remote_gym_url %q: Gym speaks http; write http://HOST:PORT", address)
	}
	whole, err := registry.NormalizeURL(rest, DefaultRemotePort)
	if err != nil {
		return "", fmt.Errorf("remote_gym_url: %w", err)
	}
	u, err := url.Parse(whole)
	if err != nil {
		return "", fmt.Errorf("remote_gym_url %q: %w", address, err)
	}
	if u.Path != "" && u.Path != "/v1" {
		return "", fmt.Errorf("remote_gym_url %q: Gym is served at the root, so the path %s cannot be right; write http://%s", address, u.Path, u.Host)
	}
	return "http://" + u.Host, nil
}
