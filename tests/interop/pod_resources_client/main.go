// An exporter's view of a kubelet: the pod resources API, asked with Kubernetes' own client package, printed as one line of
// JSON for each call. The path is dialled as exporters of the field dial it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	older "k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

func main() {
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	connection, err := grpc.NewClient("passthrough:///"+os.Args[1], grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16*1024*1024)))
	if err != nil {
		log.Fatalln(err)
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := podresources.NewPodResourcesListerClient(connection)
	list, err := client.List(ctx, &podresources.ListPodResourcesRequest{})
	tell(list, err)
	listOfOlder, err := older.NewPodResourcesListerClient(connection).List(ctx, &older.ListPodResourcesRequest{})
	tell(listOfOlder, err)
	allocatable, err := client.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	tell(allocatable, err)
	for _, name := range os.Args[2:] {
		pod, err := client.Get(ctx, &podresources.GetPodResourcesRequest{PodName: name, PodNamespace: "default"})
		tell(pod, err)
	}
}

func tell(answer proto.Message, failure error) {
	if failure != nil {
		text, _ := json.Marshal(map[string]string{"error": failure.Error()})
		os.Stdout.Write(append(text, '\n'))
		return
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(answer)
	if err != nil {
		log.Fatalln(err)
	}
	os.Stdout.Write(append(text, '\n'))
}
