package deviceplugin

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// kubelet takes registrations.
type kubelet struct {
	api.UnimplementedRegistrationServer
	registered chan *api.RegisterRequest
}

func (k kubelet) Register(_ context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	k.registered <- r
	return &api.Empty{}, nil
}

// start removes all sockets, as a kubelet does that starts, and serves.
func (k kubelet) start(t *testing.T, dir string) *grpc.Server {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	require.NoError(t, err)
	for _, socket := range sockets {
		require.NoError(t, os.Remove(socket))
	}
	l, err := net.Listen("unix", filepath.Join(dir, "kubelet.sock"))
	require.NoError(t, err)
	server := grpc.NewServer()
	api.RegisterRegistrationServer(server, k)
	go func() { _ = server.Serve(l) }() // ends with Stop
	return server
}

func (k kubelet) await(t *testing.T) {
	t.Helper()
	select {
	case r := <-k.registered:
		require.Equal(t, Resource, r.ResourceName)
	case <-time.After(20 * time.Second):
		t.Fatal("the plugin does not register")
	}
}

func TestThePluginWaitsForTheKubeletAndRegistersAgainWhenItStartsAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(4).Run(ctx, dir) }()

	k := kubelet{registered: make(chan *api.RegisterRequest, 10)}
	first := k.start(t, dir)
	k.await(t)
	first.Stop()
	second := k.start(t, dir)
	defer second.Stop()
	k.await(t)

	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, socketName), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := api.NewDevicePluginClient(conn)
	stream, err := client.ListAndWatch(ctx, &api.Empty{})
	require.NoError(t, err)
	list, err := stream.Recv()
	require.NoError(t, err)
	require.Len(t, list.Devices, 4)
	res, err := client.Allocate(ctx, &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{
		{DevicesIds: []string{"GPU-fake-0", "GPU-fake-3"}}, {DevicesIds: []string{"GPU-fake-1"}},
	}})
	require.NoError(t, err)
	require.Equal(t, "GPU-fake-0,GPU-fake-3", res.ContainerResponses[0].Envs["NVIDIA_VISIBLE_DEVICES"])
	require.Equal(t, "GPU-fake-1", res.ContainerResponses[1].Envs["NVIDIA_VISIBLE_DEVICES"])

	cancel()
	require.NoError(t, <-done)
}
