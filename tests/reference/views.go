package main

import (
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

func sorted(names []string) []string {
	answer := append([]string{}, names...)
	sort.Strings(answer)
	return answer
}

func amounts(list v1.ResourceList, onlyExtended bool) map[string]int64 {
	answer := map[string]int64{}
	for name, quantity := range list {
		if !onlyExtended || v1helper.IsExtendedResourceName(name) {
			answer[string(name)] = quantity.Value()
		}
	}
	return answer
}

func (w *world) named(uid, name string) (*v1.Pod, *v1.Container, error) {
	pod := w.known[uid]
	if pod == nil {
		return nil, nil, fmt.Errorf("no step before admitted a pod %s", uid)
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return pod, &list[i], nil
			}
		}
	}
	return nil, nil, fmt.Errorf("pod %s has no container %s", uid, name)
}

// container prepares one container, and shows its merged options with each list sorted.
func (w *world) container(uid, name string) (any, error) {
	pod, container, err := w.named(uid, name)
	if err != nil {
		return nil, err
	}
	options, err := runContainerOptions(w.devices, pod, container)
	if err != nil {
		return map[string]any{"error": err.Error()}, nil
	}
	if options == nil {
		return map[string]any{"options": nil}, nil
	}
	envs, mounts, devices, annotations, cdi := [][]any{}, [][]any{}, [][]any{}, [][]any{}, []string{}
	for _, each := range options.Envs {
		envs = append(envs, []any{each.Name, each.Value})
	}
	for _, each := range options.Mounts {
		mounts = append(mounts, []any{each.ContainerPath, each.HostPath, each.ReadOnly})
	}
	for _, each := range options.Devices {
		devices = append(devices, []any{each.PathInContainer, each.PathOnHost, each.Permissions})
	}
	for _, each := range options.Annotations {
		annotations = append(annotations, []any{each.Name, each.Value})
	}
	for _, each := range options.CDIDevices {
		cdi = append(cdi, each.Name)
	}
	for _, list := range [][][]any{envs, mounts, devices, annotations} {
		sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	}
	return map[string]any{"options": map[string]any{
		"envs": envs, "mounts": mounts, "devices": devices, "annotations": annotations, "cdi": sorted(cdi),
	}}, nil
}

// allocated shows recorded ids by container and resource; each container of a known pod is there.
func (w *world) allocated(uid string) any {
	answer := records(w.devices, uid)
	if pod := w.known[uid]; pod != nil {
		for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for _, container := range list {
				if answer[container.Name] == nil {
					answer[container.Name] = map[string][]string{}
				}
			}
		}
	}
	return answer
}

// status shows the health of allocated devices as it gets into the status of the pod's app containers.
func (w *world) status(uid string) (any, error) {
	pod := w.known[uid]
	if pod == nil {
		return nil, fmt.Errorf("no step before admitted a pod %s", uid)
	}
	status := &v1.PodStatus{}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, v1.ContainerStatus{Name: container.Name})
	}
	w.devices.UpdateAllocatedResourcesStatus(pod, status)
	answer := map[string]map[string]map[string]string{}
	for _, container := range status.ContainerStatuses {
		answer[container.Name] = map[string]map[string]string{}
		for _, each := range container.AllocatedResourcesStatus {
			healths := map[string]string{}
			for _, device := range each.Resources {
				healths[string(device.ResourceID)] = string(device.Health)
			}
			answer[container.Name][string(each.Name)] = healths
		}
	}
	return answer, nil
}

func (w *world) affinity(uid, name string) (any, error) {
	if _, _, err := w.named(uid, name); err != nil {
		return nil, err
	}
	hint := w.topology.GetAffinity(uid, name)
	if hint.NUMANodeAffinity == nil {
		return map[string]any{"nodes": nil, "preferred": hint.Preferred}, nil
	}
	return map[string]any{"nodes": append([]int{}, hint.NUMANodeAffinity.GetBits()...), "preferred": hint.Preferred}, nil
}
