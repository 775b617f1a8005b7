package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

// Where the constant of the manager leads: a link, in a mount namespace of our own, to the folder of the story.
const kubeletFolder = "/var/lib/kubelet"

const (
	cpus      = 64
	memory    = 256 << 30
	podsAtMax = 110 // Unless said otherwise.
)

type nodeSpec struct {
	NUMA    []int             `json:"numa"`
	Policy  string            `json:"policy"`
	Scope   string            `json:"scope"`
	Options map[string]string `json:"options"`
	// MaxPods is how many pods the node takes; 0: as many as a kubelet does unless told otherwise.
	MaxPods int64 `json:"max_pods"`
}

// world is a node and, at times, a kubelet on it.
type world struct {
	spec   nodeSpec
	node   *v1.Node
	active []*v1.Pod
	known  map[string]*v1.Pod
	calls  callLog
	// watched is the hook of the kubelet that runs, or ran last.
	watched atomic.Pointer[hook]
	kubelet
}

// kubelet is what ends with the process.
type kubelet struct {
	devices  *devicemanager.ManagerImpl
	topology topologymanager.Manager
	hook     *hook
	ready    bool
}

func newWorld() *world {
	return &world{known: map[string]*v1.Pod{}}
}

func (w *world) perform(asked request) (any, error) {
	switch asked.Op {
	case "open":
		return nil, w.open(asked)
	case "kill":
		w.kill()
		return nil, nil
	case "start":
		return w.start(asked)
	case "remove":
		w.remove(asked.UID)
		return nil, nil
	}
	if w.devices == nil {
		return nil, fmt.Errorf("no kubelet runs")
	}
	switch asked.Op {
	case "ready":
		w.ready = asked.Ready
		return nil, nil
	case "admit":
		return w.admit(asked)
	case "reclaim":
		w.devices.UpdateAllocatedDevices()
		return nil, nil
	case "container":
		return w.container(asked.UID, asked.Name)
	case "capacity":
		return w.capacity()
	case "advance":
		moveStopTimes(w.devices, asked.Seconds)
		return nil, nil
	case "allocated":
		return w.allocated(asked.UID), nil
	case "in-use":
		return inUse(w.devices), nil
	case "state":
		return healths(w.devices), nil
	case "status":
		return w.status(asked.UID)
	case "floor":
		return w.floor(asked)
	case "affinity":
		return w.affinity(asked.UID, asked.Name)
	}
	return nil, fmt.Errorf("no operation %q", asked.Op)
}

// open makes a fresh node whose folder is the given one.
func (w *world) open(asked request) error {
	w.kill()
	_ = os.Remove(kubeletFolder)
	if err := os.Symlink(asked.Root, kubeletFolder); err != nil {
		return err
	}
	w.spec, w.active, w.known = asked.Node, nil, map[string]*v1.Pod{}
	if w.spec.MaxPods == 0 {
		w.spec.MaxPods = podsAtMax
	}
	w.calls.drain()
	w.node = &v1.Node{}
	w.node.Status.Capacity = v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(cpus, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(w.spec.MaxPods, resource.DecimalSI),
	}
	w.node.Status.Allocatable = w.node.Status.Capacity.DeepCopy()
	return nil
}

func (w *world) machine() []cadvisorapi.Node {
	nodes := []cadvisorapi.Node{}
	reach := 0
	for _, id := range w.spec.NUMA {
		reach = max(reach, id+1)
	}
	for _, id := range w.spec.NUMA {
		node := cadvisorapi.Node{Id: id}
		for other := range reach {
			if other == id {
				node.Distances = append(node.Distances, 10)
			} else {
				node.Distances = append(node.Distances, 20)
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// sources tells whether the pod sources are ready.
type sources struct{ w *world }

func (s sources) AddSource(string) {}
func (s sources) AllReady() bool   { return s.w.ready }

// start builds a kubelet's managers and starts them. The sources are not ready before the end of it.
func (w *world) start(asked request) (any, error) {
	topology, err := topologymanager.NewManager(w.machine(), w.spec.Policy, w.spec.Scope, w.spec.Options)
	if err != nil {
		return nil, err
	}
	devices, err := newDeviceManager(w.machine(), topology)
	if err != nil {
		return map[string]any{"started": false}, nil
	}
	addHintProvider(topology, devices)
	hook := watch(devices, &w.calls)
	containers := containermap.NewContainerMap()
	running := sets.New[string]()
	for number, pair := range asked.Running {
		id := fmt.Sprintf("container-%d", number)
		containers.Add(pair[0], pair[1], id)
		running.Insert(id)
	}
	w.kubelet = kubelet{devices: devices, topology: topology, hook: hook}
	w.watched.Store(hook)
	if err := startDeviceManager(devices, w.activePods, sources{w}, containers, running); err != nil {
		w.kill()
		return map[string]any{"started": false}, nil
	}
	hook.listening(devices)
	w.ready = asked.Ready
	return map[string]any{"started": true}, nil
}

// kill ends the kubelet as kill -9 does: connections are cut, files stay.
func (w *world) kill() {
	if w.devices != nil {
		w.hook.die(w.devices)
	}
	w.kubelet = kubelet{}
	w.watched.Store(nil)
}

func (w *world) activePods() []*v1.Pod { return w.active }

func (w *world) remove(uid string) {
	kept := []*v1.Pod{}
	for _, pod := range w.active {
		if string(pod.UID) != uid {
			kept = append(kept, pod)
		}
	}
	w.active = kept
}

type verdict struct {
	Admit   bool   `json:"admit"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// admit runs the two handlers that look at devices, in the kubelet's order.
func (w *world) admit(asked request) (any, error) {
	pod := asked.Pod
	if pod == nil {
		return nil, fmt.Errorf("no pod is given")
	}
	uid := string(pod.UID)
	w.known[uid] = pod
	w.remove(uid)
	others := append([]*v1.Pod{}, w.active...)
	w.active = append(w.active, pod)
	attrs := &lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: others}
	result := w.topology.Admit(attrs)
	if result.Admit {
		result = w.predicate().Admit(attrs)
	}
	if !result.Admit {
		w.remove(uid)
	}
	return verdict{result.Admit, result.Reason, result.Message}, nil
}

func (w *world) predicate() lifecycle.PodAdmitHandler {
	return newPredicate(func() (*v1.Node, error) { return w.node, nil }, noPreemption{}, w.devices.UpdatePluginResources)
}

// capacity is one round of the node status, with what the device manager answered in it.
func (w *world) capacity() (any, error) {
	var capacity, allocatable v1.ResourceList
	var deleted []string
	machine := &cadvisorapi.MachineInfo{NumCores: cpus, MemoryCapacity: memory, Topology: w.machine()}
	setter := nodestatus.MachineInfo(
		"node", int(w.spec.MaxPods), 0,
		func() (*cadvisorapi.MachineInfo, error) { return machine, nil },
		func(bool) v1.ResourceList { return nil },
		func() (v1.ResourceList, v1.ResourceList, []string) {
			capacity, allocatable, deleted = w.devices.GetCapacity()
			return capacity, allocatable, deleted
		},
		func() v1.ResourceList { return nil },
		func(string, string, string) {},
		false,
	)
	if err := setter(context.Background(), w.node); err != nil {
		return nil, err
	}
	return map[string]any{
		"capacity":    amounts(capacity, false),
		"allocatable": amounts(allocatable, false),
		"deleted":     sorted(deleted),
		"node": map[string]any{
			"capacity":    amounts(w.node.Status.Capacity, true),
			"allocatable": amounts(w.node.Status.Allocatable, true),
		},
	}, nil
}
