package main

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// call is one call of the manager to a plugin, ids in the order in which they were sent.
type call struct {
	RPC      string   `json:"rpc"`
	Resource string   `json:"resource"`
	IDs      []string `json:"ids"`
}

type callLog struct {
	mutex sync.Mutex
	calls []call
}

func (l *callLog) add(rpc, resource string, ids []string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls = append(l.calls, call{rpc, resource, append([]string{}, ids...)})
}

func (l *callLog) drain() []call {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

// link is one connection to a plugin as the manager uses it.
type link struct {
	pluginapi.DevicePluginClient
	hook     *hook
	resource string
	path     string
	conn     *grpc.ClientConn
	streams  bool // A stream is open.
	applied  int  // Lists that were read and applied to the end: the next one was asked for.
}

// hook sits between the plugin server and the manager. It changes nothing; it counts, and ends what a dead process would end.
type hook struct {
	manager plugin.ClientHandler
	log     *callLog
	mutex   sync.Mutex
	all     []*link
	dead    bool
}

func watch(devices *devicemanager.ManagerImpl, log *callLog) *hook {
	made := &hook{manager: devices, log: log}
	setClientHandler(devices, made)
	return made
}

// connected makes a link of a new client; false: the process is dead.
func (h *hook) connected(resource string, p plugin.DevicePlugin) bool {
	inner, conn := takeClient(p)
	path, err := filepath.EvalSymlinks(p.SocketPath())
	if err != nil {
		path = p.SocketPath()
	}
	made := &link{DevicePluginClient: inner, hook: h, resource: resource, path: path, conn: conn}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.dead {
		_ = conn.Close()
		return false
	}
	setClient(p, made)
	h.all = append(h.all, made)
	return true
}

func (h *hook) isDead() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.dead
}

// listening returns when the listener is known to the server, which is what die needs.
func (h *hook) listening(devices *devicemanager.ManagerImpl) {
	for !hasListener(devices) {
		runtime.Gosched()
	}
}

// die cuts every connection and leaves the socket's file behind.
func (h *hook) die(devices *devicemanager.ManagerImpl) {
	h.mutex.Lock()
	h.dead = true
	links := h.all
	h.mutex.Unlock()
	stopServer(devices)
	for _, each := range links {
		_ = each.conn.Close()
	}
}

type linkState struct {
	Path    string `json:"path"`
	Streams bool   `json:"stream"`
	Applied int    `json:"applied"`
}

// links shows all connections of this process, how many clients run, and how many registrations are under way.
func (w *world) links() any {
	states := []linkState{}
	if hook := w.watched.Load(); hook != nil {
		hook.mutex.Lock()
		for _, each := range hook.all {
			states = append(states, linkState{each.path, each.streams, each.applied})
		}
		hook.mutex.Unlock()
	}
	clients, registrations := busy()
	return map[string]any{"links": states, "clients": clients, "registrations": registrations}
}

// busy counts the goroutines that run a client, and those in a Register call.
func busy() (clients, registrations int) {
	records := make([]runtime.StackRecord, 4096)
	n, _ := runtime.GoroutineProfile(records)
	for i := range records[:n] {
		frames := runtime.CallersFrames(records[i].Stack())
		for {
			frame, more := frames.Next()
			if strings.Contains(frame.Function, "(*server).connectClient.") {
				clients++
			} else if strings.HasSuffix(frame.Function, "(*server).Register") {
				registrations++
			}
			if !more {
				break
			}
		}
	}
	return clients, registrations
}

// ListAndWatch opens the stream, and follows it.
func (l *link) ListAndWatch(ctx context.Context, in *pluginapi.Empty, opts ...grpc.CallOption) (pluginapi.DevicePlugin_ListAndWatchClient, error) {
	l.set(true)
	inner, err := l.DevicePluginClient.ListAndWatch(ctx, in, opts...)
	if err != nil {
		l.set(false)
		return inner, err
	}
	return &stream{inner, l, false}, nil
}

func (l *link) set(streams bool) {
	l.hook.mutex.Lock()
	defer l.hook.mutex.Unlock()
	l.streams = streams
}

// Allocate notes the call.
func (l *link) Allocate(ctx context.Context, in *pluginapi.AllocateRequest, opts ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	for _, each := range in.ContainerRequests {
		l.hook.log.add("Allocate", l.resource, idsOf(each))
	}
	return l.DevicePluginClient.Allocate(ctx, in, opts...)
}

// GetPreferredAllocation notes the call, with what must be in the answer.
func (l *link) GetPreferredAllocation(ctx context.Context, in *pluginapi.PreferredAllocationRequest, opts ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	for _, each := range in.ContainerRequests {
		l.hook.log.add("GetPreferredAllocation", l.resource, each.MustIncludeDeviceIDs)
	}
	return l.DevicePluginClient.GetPreferredAllocation(ctx, in, opts...)
}

// PreStartContainer notes the call.
func (l *link) PreStartContainer(ctx context.Context, in *pluginapi.PreStartContainerRequest, opts ...grpc.CallOption) (*pluginapi.PreStartContainerResponse, error) {
	l.hook.log.add("PreStartContainer", l.resource, preStartIDs(in))
	return l.DevicePluginClient.PreStartContainer(ctx, in, opts...)
}

// stream counts: whoever asks for the next list has dealt with the one before.
type stream struct {
	pluginapi.DevicePlugin_ListAndWatchClient
	link    *link
	started bool
}

func (s *stream) Recv() (*pluginapi.ListAndWatchResponse, error) {
	if s.started {
		s.link.hook.mutex.Lock()
		s.link.applied++
		s.link.hook.mutex.Unlock()
	}
	s.started = true
	list, err := s.DevicePlugin_ListAndWatchClient.Recv()
	if err != nil {
		s.link.set(false)
	}
	return list, err
}
