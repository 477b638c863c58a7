package reap

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cluster is a simulation in which some nodes are wedged for ever and every deleted pod comes back, often to one of them.
type cluster struct {
	random *rand.Rand
	policy Policy
	book   Book
	pods   []Pod
	made   int
}

func (c *cluster) pod(gang string, now time.Time) Pod {
	c.made++
	node := fmt.Sprintf("node-%d", c.random.IntN(4))
	excluded := c.book.Pages[node].Excluded
	return Pod{
		Name: fmt.Sprintf("p-%d", c.made), UID: fmt.Sprintf("uid-%d", c.made), Node: node, Gang: gang, Returns: true, Scheduled: now,
		Preparing: node != "node-3" && (excluded == nil || !excluded.Tainted), // the others are wedged
	}
}

// step lets the reaper look once and do what it decides. It returns how many pods it deleted.
func (c *cluster) step(now time.Time) (deletions int) {
	for i := range c.pods {
		c.pods[i].Cause = Cause{Reason: "FailedCreatePodSandBox", Last: now}
	}
	for _, action := range Decide(c.policy, Observation{Pods: c.pods, Book: c.book}, now) {
		c.book = c.book.after(action, now)
		switch action.Kind {
		case Exclude:
			if c.policy.Exclude == ExcludeTaint {
				c.book = c.book.withTaint(action.Pod.Node)
			}
		case Delete:
			deletions++
			for i := range c.pods {
				if c.pods[i].UID == action.Pod.UID {
					c.pods[i] = c.pod(action.Pod.Gang, now)
				}
			}
		}
	}
	c.book = c.book.forget(c.policy.memory(), now)
	return deletions
}

// TestNeverALoop: whatever is wedged, and however pods come back, no gang loses more pods than its budget says, and once
// all wedged nodes are excluded nothing is deleted any more, unless the taint moves it.
func TestNeverALoop(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		for _, mode := range []ExcludeMode{ExcludeReport, ExcludeTaint} {
			c := &cluster{random: rand.New(rand.NewPCG(seed, 0)), policy: DefaultPolicy()}
			c.policy.Exclude = mode
			for i := range 12 {
				c.pods = append(c.pods, c.pod(fmt.Sprintf("run %d", i%3), start))
			}
			total := 0
			for at := start; at.Before(start.Add(7 * 24 * time.Hour)); at = at.Add(2 * time.Minute) {
				deletions := c.step(at)
				if total += deletions; deletions == 0 {
					continue
				}
				for gang := range 3 {
					require.LessOrEqual(t, len(c.book.ofGang(fmt.Sprintf("run %d", gang))), 6, "seed %d, %s, %s", seed, mode, at)
				}
			}
			before := total
			for at := start.Add(7 * 24 * time.Hour); at.Before(start.Add(8 * 24 * time.Hour)); at = at.Add(2 * time.Minute) {
				total += c.step(at)
			}
			require.Positive(t, before, "seed %d", seed)
			require.Equal(t, before, total, "seed %d, %s: a week later nothing is deleted any more", seed, mode)
		}
	}
}
