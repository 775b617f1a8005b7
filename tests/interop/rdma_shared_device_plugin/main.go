// The device plugin for shared RDMA devices, started as its own main starts it, but for two things. It is not asked first
// whether the kernel shares its RDMA devices between network namespaces: a kernel without RDMA has no answer, and the
// plugin's own main ends there. And signals are caught before it registers, not after.
package main

import (
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/Mellanox/k8s-rdma-shared-dev-plugin/pkg/resources"
)

func main() {
	manager := resources.NewResourceManager(os.Args[1], false)
	steps := []func() error{
		manager.ReadConfig, manager.ValidateConfigs, manager.DiscoverHostDevices, manager.InitServers, manager.StartAllServers,
	}
	// A test may end it the moment it has registered.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	for _, step := range steps {
		if err := step(); err != nil {
			log.Fatalln(err)
		}
	}
	stopUpdates := manager.PeriodicUpdate()
	<-asked
	stopUpdates()
	_ = manager.StopAllServers()
}
