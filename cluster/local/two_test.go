//go:build linux

package local_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	local "github.com/tandem-rl/tandem/cluster/local"
)

func TestTwoInstancesOfOneMachineDoNotMeet(t *testing.T) {
	// The same name: what tells them apart is where they lie.
	one, two := newInstance(t, "twin", ""), newInstance(t, "twin", t.TempDir())
	var both sync.WaitGroup
	for _, i := range []instance{one, two} {
		both.Go(func() { i.must(t, "up") })
	}
	both.Wait()
	for _, i := range []instance{one, two} {
		i.must(t, "load", imageFile)
		i.startServerAndClient(t)
		eventually(t, 30*time.Second, i.served)
	}
	require.NotEqual(t, one.record(t).Config.APIPort, two.record(t).Config.APIPort)

	one.kubectl(t, "delete", "pod", "server", "--now")
	require.NoError(t, two.served(), "the other instance's pod of the same name")
	require.Equal(t, local.Dropped{}, one.down(t), "packets dropped by the first")
	require.NoError(t, two.served(), "after down of the other instance")
	require.Equal(t, local.Dropped{}, two.status(t).Dropped, "packets dropped by the second")

	t.Run("a packet of the host for a pod's address does not leave, and is counted", func(t *testing.T) { guardedOnHost(t, two) })
	t.Run("a packet for a Service address that nobody has does not leave, and is counted", func(t *testing.T) { guardedInside(t, two) })
}

// guardedOnHost sends one datagram to an address that no pod has. It does so only when the rule that drops it is seen.
func guardedOnHost(t *testing.T, i instance) {
	var rule string
	for _, line := range output(t, "iptables", "-S", "OUTPUT") {
		if !strings.Contains(line, "tandem-local") {
			continue
		}
		if !strings.Contains(line, `"tandem-local `+i.name+`.`) {
			t.Skip("SKIPPED: the rule of another instance is in front and would count in our place: " + line)
		}
		rule = line
		break
	}
	route := output(t, "ip", "route", "get", "198.18.99.99")[0]
	if rule == "" && len(output(t, "ip", "route", "show", "default")[0]) == 0 {
		t.Skip("SKIPPED: this machine has no default route, so there is no rule: " + route)
	}
	require.Contains(t, rule, "-d 198.18.0.0/15", "nothing is sent without the rule")
	require.Contains(t, rule, "-j DROP")
	_, device, _ := strings.Cut(rule, "-o ")
	require.Contains(t, route, "dev "+strings.Fields(device)[0]+" ")

	conn, err := net.Dial("udp", "198.18.99.99:9")
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	require.ErrorContains(t, err, "operation not permitted")
	require.Equal(t, local.Dropped{Host: 1}, i.status(t).Dropped)
}

func guardedInside(t *testing.T, i instance) {
	before := i.status(t).Dropped
	out, err := i.inClient("nc -w 1 198.19.77.77 80 </dev/null")
	require.Error(t, err, "connect to an address that nobody has: %s", out)
	after := i.status(t).Dropped
	require.Greater(t, after.Inside, before.Inside)
	require.Equal(t, before.Host, after.Host, "nothing reached the host")
	require.Equal(t, after, i.down(t))
}
