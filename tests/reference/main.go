// Command reference answers for the real device manager of a kubelet: one JSON object a line comes in, one goes out.
//
// It decides nothing of its own. What a kubelet does around its device manager (the list of active pods, the node object, the
// order of the admission handlers) is done here as README.md says; everything else is the code of k8s.io/kubernetes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// request is one operation; which fields count depends on Op.
type request struct {
	ID      int         `json:"id"`
	Op      string      `json:"op"`
	Root    string      `json:"root"`
	Node    nodeSpec    `json:"node"`
	Running [][2]string `json:"running"`
	Ready   bool        `json:"ready"`
	Pod     *v1.Pod     `json:"pod"`
	UID     string      `json:"uid"`
	Name    string      `json:"container"`
	Seconds float64     `json:"seconds"`
	IDs     []string    `json:"ids"`
	Rounds  int         `json:"rounds"`
}

// reply is what came of it, and the calls that the manager made to plugins meanwhile, in order.
type reply struct {
	ID     int    `json:"id"`
	Answer any    `json:"answer,omitempty"`
	Calls  []call `json:"calls,omitempty"`
	Error  string `json:"error,omitempty"`
	Crash  string `json:"crash,omitempty"`
	// Took is how long the operation itself took, in milliseconds, without reading the request and writing this.
	Took float64 `json:"ms"`
}

func main() {
	if os.Getenv("REFERENCE_LOG") == "" {
		klog.SetLogger(logr.Discard())
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := &answers{encoder: json.NewEncoder(os.Stdout)}
	world := newWorld()
	work := make(chan request)
	go func() {
		for asked := range work {
			answer := world.answer(asked)
			out.send(asked, answer)
			if answer.Crash != "" {
				// A kubelet would be gone now, and locks may be held: so are we.
				os.Exit(3)
			}
		}
	}()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			out.send(asked, reply{Error: err.Error()})
		} else if asked.Op == "links" {
			// Asked while another operation waits for a plugin.
			out.send(asked, reply{Answer: world.links()})
		} else {
			work <- asked
		}
	}
}

type answers struct {
	mutex   sync.Mutex
	encoder *json.Encoder
}

func (a *answers) send(to request, what reply) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	what.ID = to.ID
	_ = a.encoder.Encode(what)
}

// answer performs one operation; a panic in it is what would have ended a kubelet.
func (w *world) answer(asked request) (done reply) {
	defer func() {
		if found := recover(); found != nil {
			done = reply{Crash: fmt.Sprint(found), Calls: w.calls.drain(), Error: string(debug.Stack())}
		}
	}()
	begun := time.Now()
	answer, err := w.perform(asked)
	took := float64(time.Since(begun).Nanoseconds()) / 1e6
	if err != nil {
		return reply{Error: err.Error(), Calls: w.calls.drain()}
	}
	return reply{Answer: answer, Calls: w.calls.drain(), Took: took}
}
