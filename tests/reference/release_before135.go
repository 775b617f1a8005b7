//go:build before135

package main

// What the signatures up to 1.34 ask for.

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

func newDeviceManager(machine []cadvisorapi.Node, topology topologymanager.Manager) (*devicemanager.ManagerImpl, error) {
	return devicemanager.NewManagerImpl(machine, topology)
}

func addHintProvider(topology topologymanager.Manager, devices *devicemanager.ManagerImpl) {
	topology.AddHintProvider(devices)
}

func startDeviceManager(devices *devicemanager.ManagerImpl, active func() []*v1.Pod, ready config.SourcesReady, containers containermap.ContainerMap, running sets.Set[string]) error {
	return devices.Start(active, ready, containers, running)
}

func runContainerOptions(devices *devicemanager.ManagerImpl, pod *v1.Pod, container *v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return devices.GetDeviceRunContainerOptions(pod, container)
}

func newPredicate(node func() (*v1.Node, error), preemption noPreemption, update func(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error) lifecycle.PodAdmitHandler {
	return lifecycle.NewPredicateAdmitHandler(node, preemption, update)
}

// PluginConnected makes a link of the client and tells the manager.
func (h *hook) PluginConnected(resource string, p plugin.DevicePlugin) error {
	if !h.connected(resource, p) {
		return context.Canceled
	}
	return h.manager.PluginConnected(resource, p)
}

// PluginDisconnected tells the manager.
func (h *hook) PluginDisconnected(resource string) {
	if !h.isDead() {
		h.manager.PluginDisconnected(resource)
	}
}

// PluginListAndWatchReceiver tells the manager.
func (h *hook) PluginListAndWatchReceiver(resource string, list *pluginapi.ListAndWatchResponse) {
	if !h.isDead() {
		h.manager.PluginListAndWatchReceiver(resource, list)
	}
}
