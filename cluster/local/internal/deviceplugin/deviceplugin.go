// Package deviceplugin offers fake GPUs to a kubelet by the device plugin protocol (v1beta1).
//
// The kubelet counts, allocates and frees them as it does real ones, and a container that got some sees which in
// NVIDIA_VISIBLE_DEVICES, as with NVIDIA's own plugin. There is no device file and no driver behind them.
package deviceplugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Resource is the extended resource that the fakes are offered as.
const Resource = "nvidia.com/gpu"

// interval is how often it looks whether its socket is still there, and whether the kubelet is there to register with.
const interval = 500 * time.Millisecond

const socketName = "tandem-fake-gpu.sock"

// Plugin serves n fake devices.
type Plugin struct {
	api.UnimplementedDevicePluginServer
	devices []*api.Device
}

// New returns a plugin with n healthy devices, GPU-fake-0 to GPU-fake-(n-1).
func New(n int) *Plugin {
	p := &Plugin{}
	for i := range n {
		p.devices = append(p.devices, &api.Device{ID: fmt.Sprintf("GPU-fake-%d", i), Health: api.Healthy})
	}
	return p
}

// Run serves on a socket in dir and registers with the kubelet there; it ends with ctx or with an error. A kubelet
// that starts again removes the socket and knows no plugin: then it is all done once more.
func (p *Plugin) Run(ctx context.Context, dir string) error {
	for ctx.Err() == nil {
		if err := p.serve(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// serve ends without an error when ctx ends or the kubelet has removed the socket.
func (p *Plugin) serve(ctx context.Context, dir string) error {
	socket := filepath.Join(dir, socketName)
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	defer server.Stop()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for registered := false; ; {
		if !registered {
			err := register(ctx, filepath.Join(dir, "kubelet.sock"))
			registered = err == nil
			if err != nil && status.Code(err) != codes.Unavailable { // there is a kubelet, and it refuses
				return fmt.Errorf("register with the kubelet: %w", err)
			}
		}
		if _, err := os.Stat(socket); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func register(ctx context.Context, kubelet string) error {
	conn, err := grpc.NewClient("unix://"+kubelet, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = api.NewRegistrationClient(conn).Register(ctx, &api.RegisterRequest{
		Version: api.Version, Endpoint: socketName, ResourceName: Resource,
	})
	return err
}

// GetDevicePluginOptions says that no optional call is wanted.
func (p *Plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once; their health never changes.
func (p *Plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate gives the containers the devices that the kubelet chose.
func (p *Plugin) Allocate(_ context.Context, req *api.AllocateRequest) (*api.AllocateResponse, error) {
	res := &api.AllocateResponse{}
	for _, c := range req.ContainerRequests {
		res.ContainerResponses = append(res.ContainerResponses, &api.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(c.DevicesIds, ",")},
		})
	}
	return res, nil
}
