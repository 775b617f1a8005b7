package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// floor measures what nobody can save in an admission: an Allocate call of the manager's own client, and a durable write of the
// checkpoint as it is; both in milliseconds, for each round.
func (w *world) floor(asked request) (any, error) {
	links := w.hook.all
	if len(links) == 0 {
		return nil, fmt.Errorf("no plugin is connected")
	}
	client := links[len(links)-1].DevicePluginClient
	checkpoint := filepath.Join(kubeletFolder, "device-plugins", "kubelet_internal_checkpoint")
	content, err := os.ReadFile(checkpoint)
	if err != nil {
		return nil, err
	}
	calls, writes := []float64{}, []float64{}
	for range asked.Rounds {
		begun := time.Now()
		if _, err := client.Allocate(context.Background(), allocateRequest(asked.IDs)); err != nil {
			return nil, err
		}
		called := time.Now()
		if err := durably(filepath.Join(filepath.Dir(checkpoint), ".floor"), content); err != nil {
			return nil, err
		}
		calls = append(calls, float64(called.Sub(begun).Nanoseconds())/1e6)
		writes = append(writes, float64(time.Since(called).Nanoseconds())/1e6)
	}
	return map[string]any{"calls": calls, "writes": writes}, nil
}

func durably(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".floor-")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
