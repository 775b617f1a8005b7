// Reads a container's configuration from standard input as crictl does, with Go's own decoder into the message of CRI, and
// writes the message as it goes to a runtime. A field that the message does not have is an error here: crictl would pass it
// over.
package main

import (
	"encoding/json"
	"log"
	"os"

	"google.golang.org/protobuf/proto"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	var config runtime.ContainerConfig
	if err := decoder.Decode(&config); err != nil {
		log.Fatalln(err)
	}
	message, err := proto.Marshal(&config)
	if err != nil {
		log.Fatalln(err)
	}
	os.Stdout.Write(message)
}
