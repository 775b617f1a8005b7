// Command plugin is a device plugin for benchmarks: compiled, so that it is not what takes the time.
//
// It serves one resource and is told what to do by lines: `register` calls Register and answers when the kubelet has dealt with
// the first list; `update` changes the health of one device, sends the list, and answers likewise. That the kubelet has dealt
// with a list is seen by its checkpoint, which it replaces after each: the same look at either side. An answer is one line of
// JSON with the milliseconds that it took.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	pause    = 50 * time.Microsecond
	patience = 60 * time.Second
)

type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	mutex   sync.Mutex
	devices []*pluginapi.Device
	changed chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) list() *pluginapi.ListAndWatchResponse {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	devices := make([]*pluginapi.Device, len(p.devices))
	for i, each := range p.devices {
		devices[i] = &pluginapi.Device{ID: each.ID, Health: each.Health, Topology: each.Topology}
	}
	return &pluginapi.ListAndWatchResponse{Devices: devices}
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	for {
		if err := stream.Send(p.list()); err != nil {
			return err
		}
		select {
		case <-p.changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// Allocate answers as many a plugin does: a device node for each device, a variable with their ids, a mount.
func (p *plugin) Allocate(_ context.Context, in *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	answer := &pluginapi.AllocateResponse{}
	for _, each := range in.ContainerRequests {
		nodes := []*pluginapi.DeviceSpec{}
		for _, id := range each.DevicesIds {
			nodes = append(nodes, &pluginapi.DeviceSpec{ContainerPath: "/dev/example/" + id, HostPath: "/dev/example/" + id, Permissions: "rw"})
		}
		answer.ContainerResponses = append(answer.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs:    map[string]string{"IDS": strings.Join(each.DevicesIds, ",")},
			Mounts:  []*pluginapi.Mount{{ContainerPath: "/usr/lib/example", HostPath: "/opt/example/lib", ReadOnly: true}},
			Devices: nodes,
		})
	}
	return answer, nil
}

// flip changes the health of the last device, which the pods of a benchmark do not come to.
func (p *plugin) flip() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	last := p.devices[len(p.devices)-1]
	if last.Health == pluginapi.Healthy {
		last.Health = pluginapi.Unhealthy
	} else {
		last.Health = pluginapi.Healthy
	}
}

func devices(count, nodes int) []*pluginapi.Device {
	made := make([]*pluginapi.Device, count)
	for i := range made {
		made[i] = &pluginapi.Device{ID: fmt.Sprintf("device-%05d", i), Health: pluginapi.Healthy}
		if nodes > 0 {
			made[i].Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(i % nodes)}}}
		}
	}
	return made
}

// inode tells one checkpoint from the next; 0: there is none.
func inode(path string) uint64 {
	found, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return found.Sys().(*syscall.Stat_t).Ino
}

// untilWritten does something and waits for the checkpoint that comes of it.
func untilWritten(path string, do func() error) (float64, error) {
	before, begun := inode(path), time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	for time.Since(begun) < patience {
		if now := inode(path); now != 0 && now != before {
			return float64(time.Since(begun).Nanoseconds()) / 1e6, nil
		}
		time.Sleep(pause)
	}
	return 0, fmt.Errorf("no checkpoint in %s", patience)
}

func register(folder, socket, resource string) error {
	conn, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := &pluginapi.RegisterRequest{Version: pluginapi.Version, Endpoint: socket, ResourceName: resource, Options: &pluginapi.DevicePluginOptions{}}
	_, err = pluginapi.NewRegistrationClient(conn).Register(context.Background(), request)
	return err
}

func main() {
	folder := flag.String("folder", "", "the device-plugin directory")
	resource := flag.String("resource", "example.com/dev", "whose devices")
	count := flag.Int("devices", 8, "how many")
	nodes := flag.Int("numa", 0, "over how many NUMA nodes they are spread; 0: they have none")
	flag.Parse()
	socket := strings.ReplaceAll(*resource, "/", "_") + ".sock"
	p := &plugin{devices: devices(*count, *nodes), changed: make(chan struct{})}
	checkpoint := filepath.Join(*folder, "kubelet_internal_checkpoint")
	listener, err := net.Listen("unix", filepath.Join(*folder, socket))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var took float64
		switch in.Text() {
		case "register":
			took, err = untilWritten(checkpoint, func() error { return register(*folder, socket, *resource) })
		case "update":
			p.flip()
			took, err = untilWritten(checkpoint, func() error { p.changed <- struct{}{}; return nil })
		default:
			err = fmt.Errorf("nothing is known of %q", in.Text())
		}
		if err != nil {
			_ = out.Encode(map[string]string{"error": err.Error()})
			continue
		}
		_ = out.Encode(map[string]float64{"ms": took})
	}
	server.Stop()
}
