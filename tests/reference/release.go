//go:build !before135

package main

// What the signatures of 1.35 and later ask for.

import (
	"context"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
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
	topology.AddHintProvider(klog.Background(), devices)
}

func startDeviceManager(devices *devicemanager.ManagerImpl, active func() []*v1.Pod, ready config.SourcesReady, containers containermap.ContainerMap, running sets.Set[string]) error {
	return devices.Start(klog.Background(), active, ready, containers, running)
}

func runContainerOptions(devices *devicemanager.ManagerImpl, pod *v1.Pod, container *v1.Container) (*devicemanager.DeviceRunContainerOptions, error) {
	return devices.GetDeviceRunContainerOptions(context.Background(), pod, container)
}

func newPredicate(node func() (*v1.Node, error), preemption noPreemption, update func(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error) lifecycle.PodAdmitHandler {
	return lifecycle.NewPredicateAdmitHandler(func(context.Context, bool) (*v1.Node, error) { return node() }, preemption, update)
}

// PluginConnected makes a link of the client and tells the manager.
func (h *hook) PluginConnected(ctx context.Context, resource string, p plugin.DevicePlugin) error {
	if !h.connected(resource, p) {
		return context.Canceled
	}
	return h.manager.PluginConnected(ctx, resource, p)
}

// PluginDisconnected tells the manager.
func (h *hook) PluginDisconnected(logger klog.Logger, resource string) {
	if !h.isDead() {
		h.manager.PluginDisconnected(logger, resource)
	}
}

// PluginListAndWatchReceiver tells the manager.
func (h *hook) PluginListAndWatchReceiver(logger klog.Logger, resource string, list *pluginapi.ListAndWatchResponse) {
	if !h.isDead() {
		h.manager.PluginListAndWatchReceiver(logger, resource, list)
	}
}
