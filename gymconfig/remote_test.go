package gymconfig

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRemoteURLsAreReadInEveryFormPeopleWrite(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"host":                       "http://host:8080",
		"host:9090":                  "http://host:9090",
		" host:9090 ":                "http://host:9090",
		"host/":                      "http://host:8080",
		"host:9090//":                "http://host:9090",
		"host:9090/v1":               "http://host:9090",
		"10.0.0.1":                   "http://10.0.0.1:8080",
		"gym-head.run.svc:11000":     "http://gym-head.run.svc:11000",
		"::1":                        "http://[::1]:8080",
		"[::1]":                      "http://[::1]:8080",
		"[::1]:8080":                 "http://[::1]:8080",
		"fd00::1":                    "http://[fd00::1]:8080",
		"http://host":                "http://host:8080",
		"http://host/":               "http://host:8080",
		"http://host:80":             "http://host:80",
		"http://host:8080/v1":        "http://host:8080",
		"http://host:8080/v1/":       "http://host:8080",
		"HTTP://host:8080/":          "http://host:8080",
		"http://[fd00::1]:9090/v1//": "http://[fd00::1]:9090",
	} {
		got, err := NormalizeRemoteURL(address)
		require.NoError(t, err, address)
		require.Equal(t, want, got, address)
		again, err := NormalizeRemoteURL(got)
		require.NoError(t, err, address)
		require.Equal(t, got, again, "the canonical form of %s is not canonical", address)
	}
}

func TestBadRemoteURLsAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                       "remote_gym_url",
		"  ":                     "remote_gym_url",
		"http://":                "remote_gym_url",
		"https://host":           "Gym speaks http",
		"tcp://host:1":           "Gym speaks http",
		"host:0":                 "remote_gym_url",
		"host:99999":             "remote_gym_url",
		"host:port":              "remote_gym_url",
		"host:9090/gym":          "Gym is served at the root, so the path /gym cannot be right; write http://host:9090",
		"user:pw@host":           "remote_gym_url",
		"host?x=1":               "remote_gym_url",
		"host#x":                 "remote_gym_url",
		"fd00::1:99999":          "remote_gym_url",
		"[::1":                   "remote_gym_url",
		"http://http://host":     "remote_gym_url",
		"two hosts":              "remote_gym_url",
		"host_name:9090/../../x": "remote_gym_url",
	} {
		_, err := NormalizeRemoteURL(address)
		require.ErrorContains(t, err, want, address)
	}
}
