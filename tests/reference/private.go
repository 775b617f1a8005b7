package main

// What has no public way in: read and set through reflection, by the names that the fields have upstream. A field that is not
// there any more panics at the first use, which is what we want.

import (
	"net"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// open makes a field of an addressable struct readable and settable.
func open(of reflect.Value, field string) reflect.Value {
	found := of.FieldByName(field)
	return reflect.NewAt(found.Type(), unsafe.Pointer(found.UnsafeAddr())).Elem()
}

func manager(devices *devicemanager.ManagerImpl) reflect.Value {
	return reflect.ValueOf(devices).Elem()
}

func locked(devices *devicemanager.ManagerImpl) func() {
	mutex := open(manager(devices), "mutex").Addr().Interface().(*sync.Mutex)
	mutex.Lock()
	return mutex.Unlock
}

func server(devices *devicemanager.ManagerImpl) reflect.Value {
	return reflect.ValueOf(open(manager(devices), "server").Interface()).Elem()
}

func setClientHandler(devices *devicemanager.ManagerImpl, handler plugin.ClientHandler) {
	open(server(devices), "chandler").Set(reflect.ValueOf(handler))
}

func takeClient(p plugin.DevicePlugin) (pluginapi.DevicePluginClient, *grpc.ClientConn) {
	of := reflect.ValueOf(p).Elem()
	return open(of, "client").Interface().(pluginapi.DevicePluginClient), open(of, "grpc").Interface().(*grpc.ClientConn)
}

func setClient(p plugin.DevicePlugin, client pluginapi.DevicePluginClient) {
	open(reflect.ValueOf(p).Elem(), "client").Set(reflect.ValueOf(client))
}

func listeners(of *grpc.Server) []net.Listener {
	inside := reflect.ValueOf(of).Elem()
	mutex := open(inside, "mu").Addr().Interface().(*sync.Mutex)
	mutex.Lock()
	defer mutex.Unlock()
	found := []net.Listener{}
	for listener := range open(inside, "lis").Interface().(map[net.Listener]bool) {
		found = append(found, listener)
	}
	return found
}

func grpcServer(devices *devicemanager.ManagerImpl) *grpc.Server {
	return open(server(devices), "grpc").Interface().(*grpc.Server)
}

func hasListener(devices *devicemanager.ManagerImpl) bool {
	return len(listeners(grpcServer(devices))) > 0
}

// stopServer ends the registration server without the removal of its socket's file, which a dead process cannot do.
func stopServer(devices *devicemanager.ManagerImpl) {
	running := grpcServer(devices)
	if running == nil {
		return
	}
	for _, listener := range listeners(running) {
		inner := reflect.ValueOf(listener).Elem().FieldByName("Listener").Interface().(*net.UnixListener)
		inner.SetUnlinkOnClose(false)
	}
	running.Stop()
}

// moveStopTimes lets so many seconds pass since each stopped endpoint was stopped.
func moveStopTimes(devices *devicemanager.ManagerImpl, seconds float64) {
	defer locked(devices)()
	endpoints := open(manager(devices), "endpoints")
	for _, key := range endpoints.MapKeys() {
		pointer := endpoints.MapIndex(key).FieldByName("e").Elem()
		endpoint := reflect.NewAt(pointer.Type().Elem(), unsafe.Pointer(pointer.Pointer())).Elem()
		stopped := open(endpoint, "stopTime").Addr().Interface().(*time.Time)
		if !stopped.IsZero() {
			*stopped = stopped.Add(-time.Duration(seconds * float64(time.Second)))
		}
	}
}

func idSets(of reflect.Value) map[string][]string {
	answer := map[string][]string{}
	for _, resource := range of.MapKeys() {
		ids := []string{}
		for _, id := range of.MapIndex(resource).MapKeys() {
			ids = append(ids, id.String())
		}
		answer[resource.String()] = sorted(ids)
	}
	return answer
}

func inUse(devices *devicemanager.ManagerImpl) map[string]int {
	defer locked(devices)()
	answer := map[string]int{}
	for resource, ids := range idSets(open(manager(devices), "allocatedDevices")) {
		if len(ids) > 0 {
			answer[resource] = len(ids)
		}
	}
	return answer
}

func healths(devices *devicemanager.ManagerImpl) any {
	defer locked(devices)()
	of := manager(devices)
	return map[string]any{
		"healthy":   idSets(open(of, "healthyDevices")),
		"unhealthy": idSets(open(of, "unhealthyDevices")),
	}
}

// records shows what is recorded for a pod: container, resource, ids.
func records(devices *devicemanager.ManagerImpl, uid string) map[string]map[string][]string {
	defer locked(devices)()
	answer := map[string]map[string][]string{}
	containers := open(open(manager(devices), "podDevices").Elem(), "devs").MapIndex(reflect.ValueOf(uid))
	if !containers.IsValid() {
		return answer
	}
	for _, container := range containers.MapKeys() {
		resources := containers.MapIndex(container)
		answer[container.String()] = map[string][]string{}
		for _, resource := range resources.MapKeys() {
			ids := map[string]bool{}
			byNode := resources.MapIndex(resource).FieldByName("deviceIds")
			for _, node := range byNode.MapKeys() {
				for i := range byNode.MapIndex(node).Len() {
					ids[byNode.MapIndex(node).Index(i).String()] = true
				}
			}
			all := []string{}
			for id := range ids {
				all = append(all, id)
			}
			answer[container.String()][resource.String()] = sorted(all)
		}
	}
	return answer
}
