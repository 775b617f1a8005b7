//go:build before134

package main

// What the messages and the preemption up to 1.33 look like.

import (
	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type noPreemption struct{}

func (noPreemption) HandleAdmissionFailure(_ *v1.Pod, reasons []lifecycle.PredicateFailureReason) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

func idsOf(request *pluginapi.ContainerAllocateRequest) []string { return request.DevicesIDs }

func preStartIDs(request *pluginapi.PreStartContainerRequest) []string { return request.DevicesIDs }

func allocateRequest(ids []string) *pluginapi.AllocateRequest {
	return &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIDs: ids}}}
}
