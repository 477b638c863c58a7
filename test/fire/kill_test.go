package fire

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tandem-rl/tandem/registry"
)

const (
	kills   = 100
	atOnce  = 8
	livesTo = 1500 * time.Millisecond // from the start of the process; a cold start takes a good part of it
	members = "members"
)

// TestWhatAWriterSawAcknowledgedIsThereAfterItIsKilled kills half of the writers of a run without shards, and half of
// one whose folder is taken away and started again as well.
func TestWhatAWriterSawAcknowledgedIsThereAfterItIsKilled(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	t.Logf("to play the same again: -seed=%d", first)
	for shards, name := range map[int]string{0: "one ConfigMap", registry.Shards(kills / 2): "shards"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, shards, everything...)
			random := rand.New(rand.NewPCG(first, uint64(shards)))
			massacre(t, s, random)
		})
	}
}

func massacre(t *testing.T, s *scene, random *rand.Rand) {
	kubeconfig := s.kubeconfig(t)
	folding := make(chan error, 1)
	ctx, stopFolding := context.WithCancel(s.ctx)
	defer stopFolding()
	if s.Shards > 0 {
		folders := rand.New(rand.NewPCG(random.Uint64(), 0))
		go func() { folding <- s.foldOnAndOff(ctx, folders) }()
	}
	dead := make([]*victim, kills/2)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range dead {
		dead[i] = &victim{name: fmt.Sprintf("victim-%d", i), life: time.Duration(random.Int64N(int64(livesTo)))}
		group.Go(func() error { return dead[i].liveAndDie(s, kubeconfig) })
	}
	require.NoError(t, group.Wait())
	if s.Shards > 0 {
		stopFolding()
		require.NoError(t, <-folding)
		s.fold(t) // one that stays
	}
	acknowledged := 0
	for _, v := range dead {
		acknowledged += v.number + len(v.joined)
	}
	t.Logf("%d writers were killed after %d acknowledged writes", len(dead), acknowledged)
	require.NotZero(t, acknowledged)
	var missing string
	s.until(t, "what was acknowledged is in the run's ConfigMap", func() bool {
		missing = firstMissing(s.data(t), dead)
		return missing == ""
	})
}

// foldOnAndOff runs folders one after the other, each for a random time, until ctx ends.
func (s *scene) foldOnAndOff(ctx context.Context, random *rand.Rand) error {
	for ctx.Err() == nil {
		life, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(2*time.Second))))
		err := s.foldUntil(life)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// victim is a writer in a process of its own, and what it saw acknowledged.
type victim struct {
	name   string
	life   time.Duration
	number int
	joined []string
}

func (v *victim) liveAndDie(s *scene, kubeconfig string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var out, talk bytes.Buffer
	cmd := exec.CommandContext(s.ctx, self)
	cmd.Env = append(os.Environ(), writerEnv+"="+v.name, "KUBECONFIG="+kubeconfig,
		"WRITER_NAMESPACE="+s.Namespace, "WRITER_SHARDS="+strconv.Itoa(s.Shards))
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := pause(s.ctx, v.life); err != nil {
		return err
	}
	if err := cmd.Process.Kill(); err != nil {
		return fmt.Errorf("%s ended before it was killed: %w: %s", v.name, err, talk.String())
	}
	_ = cmd.Wait() // it was killed
	return v.readLog(out.String())
}

// readLog reads one line for each acknowledged write.
func (v *victim) readLog(log string) (err error) {
	for line := range strings.Lines(log) {
		what, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "set":
			if v.number, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "joined":
			v.joined = append(v.joined, value)
		default:
			return fmt.Errorf("%s says %q", v.name, line)
		}
	}
	return nil
}

func firstMissing(data map[string]string, dead []*victim) string {
	list, err := registry.Members(data[members])
	if err != nil {
		return err.Error()
	}
	for _, v := range dead {
		if have, _ := strconv.Atoi(data[v.name]); have < v.number {
			return fmt.Sprintf("%s=%d (there is %q)", v.name, v.number, data[v.name])
		}
		for _, member := range v.joined {
			if !slices.Contains(list, member) {
				return member
			}
		}
	}
	return ""
}

// writerEnv makes the test binary a writer of that name.
const writerEnv = "TANDEM_FIRE_WRITER"

// writer writes until it is killed, and prints a line for each write that was acknowledged.
func writer() int {
	err := write(context.Background(), os.Getenv(writerEnv))
	fmt.Fprintln(os.Stderr, "error:", err)
	return 1
}

func write(ctx context.Context, name string) error {
	shards, err := strconv.Atoi(os.Getenv("WRITER_SHARDS"))
	if err != nil {
		return err
	}
	api, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	store, err := registry.New(registry.Config{
		Run: "run", Namespace: os.Getenv("WRITER_NAMESPACE"), Shards: shards,
		Publisher: registry.Publisher{Pod: name, UID: "uid-of-" + name},
	}, api)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := store.Set(ctx, name, strconv.Itoa(n)); err != nil {
			return err
		}
		fmt.Println("set", n)
		if n%4 != 1 {
			continue // a list has to fit into a ConfigMap
		}
		member := fmt.Sprintf("%s-%d", name, n)
		if err := store.Join(ctx, members, member); err != nil {
			return err
		}
		fmt.Println("joined", member)
	}
}

// kubeconfig is a file for other processes to be a pod of the run.
func (s *scene) kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: s.pod.Host, CertificateAuthority: s.pod.CAFile, CertificateAuthorityData: s.pod.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: s.pod.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file))
	return file
}
