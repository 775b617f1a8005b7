//go:build !before134

package main

// What the messages and the preemption of 1.34 and later look like.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

type noPreemption struct{}

func (noPreemption) HandleAdmissionFailure(_ context.Context, _ *v1.Pod, reasons []lifecycle.PredicateFailureReason) ([]lifecycle.PredicateFailureReason, error) {
	return reasons, nil
}

func idsOf(request *pluginapi.ContainerAllocateRequest) []string { return request.DevicesIds }

func preStartIDs(request *pluginapi.PreStartContainerRequest) []string { return request.DevicesIds }

func allocateRequest(ids []string) *pluginapi.AllocateRequest {
	return &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: ids}}}
}
