package registry

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNormalizeURL(t *testing.T) {
	for given, want := range map[string]string{
		"10.0.0.1":                      "http://10.0.0.1:11000",
		"10.0.0.1:9090":                 "http://10.0.0.1:9090",
		"10.0.0.1:":                     "http://10.0.0.1:11000",
		" gym-head.train.svc:9090\n":    "http://gym-head.train.svc:9090",
		"gym_head":                      "http://gym_head:11000",
		"fd00::1":                       "http://[fd00::1]:11000",
		"fd00::1/v1/":                   "http://[fd00::1]:11000/v1",
		"[fd00::1]":                     "http://[fd00::1]:11000",
		"[fd00::1]:9090":                "http://[fd00::1]:9090",
		"http://[fd00::1]:9090/":        "http://[fd00::1]:9090",
		"http://10.0.0.1:9090":          "http://10.0.0.1:9090",
		"http://10.0.0.1:9090///":       "http://10.0.0.1:9090",
		"http://10.0.0.1:09090":         "http://10.0.0.1:9090",
		"http://gateway/gym/head/":      "http://gateway:80/gym/head",
		"https://gateway/gym":           "https://gateway:443/gym",
		"HTTP://Gateway.example.:8080/": "http://Gateway.example.:8080",
		"http://h/a%2Fb/":               "http://h:80/a%2Fb",
	} {
		got, err := NormalizeURL(given, DefaultGymPort)
		require.NoError(t, err, given)
		require.Equal(t, want, got, given)
		again, err := NormalizeURL(got, DefaultGymPort)
		require.NoError(t, err)
		require.Equal(t, got, again, "what is normal stays")
	}
	for given, problem := range map[string]string{
		"":                       "is no host name",
		"http://":                "is no host name",
		":9090":                  "is no host name",
		"a b:1":                  "invalid character",
		"ftp://h:1":              `scheme "ftp"`,
		"http://u:p@h:1":         "user or password",
		"http://h:1/?x=1":        "query",
		"http://h:0":             `port "0"`,
		"http://h:70000":         `port "70000"`,
		"fd00::1:x":              "",
		"http://fd00::1:9090":    "",
		"http://[::ffff:zz]:1":   "",
		"http://[fe80::1%25a]:1": "no IPv6 address",
		"-h:1":                   "is no host name",
		`["http://h:1"]`:         "",
	} {
		got, err := NormalizeURL(given, DefaultGymPort)
		require.ErrorIs(t, err, ErrBadValue, "%s gave %s", given, got)
		require.ErrorContains(t, err, problem)
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{"10.0.0.1:9090", "[fd00::1]:9090/x", "http://h//a/../b/", "https://h?", "::1", "h:%31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		got, err := NormalizeURL(address, DefaultGymPort)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		u, err := url.Parse(got)
		require.NoError(t, err)
		require.NotEmpty(t, u.Port())
		require.NotEmpty(t, u.Hostname())
		again, err := NormalizeURL(got, DefaultGymPort)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
