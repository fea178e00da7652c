package renewal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

// programs are the static pods of the node, as its container runtime knows them. It uses the CRI, as the kubelet does.
type programs struct {
	*grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
}

func connect(l host.Layout) (*programs, error) {
	socket, err := kubeadm.RuntimeSocket(l)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("unix:"+l.At(socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connecting to the container runtime at %s: %w", socket, err)
	}
	return &programs{connection, runtimeapi.NewRuntimeServiceClient(connection)}, nil
}

// The annotation and the value of a pod from a file, and the label of a pod's containers (kubelet 1.34,
// pkg/kubelet/types/pod_update.go and labels.go).
const (
	sourceAnnotation = "kubernetes.io/config.source"
	fromFile         = "file"
	podNameLabel     = "io.kubernetes.pod.name"
)

// containers returns the running containers of a static pod. The kubelet adds the node's name to that in the manifest.
func (p *programs) containers(ctx context.Context, name string) ([]*runtimeapi.Container, error) {
	sandboxes, err := p.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{
		Filter: &runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY}},
	})
	if err != nil {
		return nil, fmt.Errorf("asking the container runtime for the static pod %s: %s", name, status.Convert(err).Message())
	}
	node := nodeName(sandboxes.GetItems())
	var found []*runtimeapi.Container
	for _, one := range sandboxes.GetItems() {
		if one.Annotations[sourceAnnotation] != fromFile || one.Labels[podNameLabel] != name+"-"+node {
			continue
		}
		list, err := p.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
			PodSandboxId: one.Id, State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		}})
		if err != nil {
			return nil, fmt.Errorf("asking the container runtime for the containers of %s: %s", name, status.Convert(err).Message())
		}
		found = append(found, list.GetContainers()...)
	}
	return found, nil
}

// nodeName returns the name that the kubelet gives its static pods: what follows that of kube-apiserver.
func nodeName(sandboxes []*runtimeapi.PodSandbox) string {
	for _, one := range sandboxes {
		if name, is := strings.CutPrefix(one.Labels[podNameLabel], "kube-apiserver-"); is && one.Annotations[sourceAnnotation] == fromFile {
			return name
		}
	}
	return ""
}

// The time that a program has to end, and in which the kubelet has started it again. A program whose container has
// ended once is started at once: the kubelet's pause between restarts begins with the second within ten minutes.
var (
	endsWithin   = 30 * time.Second
	startsWithin = 2 * time.Minute
	steadyFor    = 10 * time.Second
)

// restart stops the containers of a static pod, and waits until the kubelet has started others.
func (p *programs) restart(ctx context.Context, name string, log *host.Log) error {
	former, err := p.containers(ctx, name)
	if err != nil {
		return err
	}
	log.Printf("restarting %s, which does not load the new certificate by itself", name)
	for _, c := range former {
		_, err := p.runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: c.Id, Timeout: int64(endsWithin.Seconds())})
		if err != nil {
			return fmt.Errorf("stopping %s: %s", name, status.Convert(err).Message())
		}
	}
	for deadline := time.Now().Add(startsWithin); ; {
		now, err := p.containers(ctx, name)
		switch {
		case err != nil:
			return err
		case len(now) > 0 && len(now) >= len(former):
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("the kubelet has not started %s again within %s", name, startsWithin)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// steady returns an error if one of these static pods does not go on to run.
func (p *programs) steady(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	before := map[string]bool{}
	for _, name := range names {
		list, err := p.containers(ctx, name)
		if err != nil {
			return err
		}
		for _, c := range list {
			before[c.Id] = true
		}
	}
	if err := sleep(ctx, steadyFor); err != nil {
		return err
	}
	for _, name := range names {
		list, err := p.containers(ctx, name)
		if err != nil {
			return err
		}
		running := false
		for _, c := range list {
			running = running || before[c.Id]
		}
		if !running {
			return fmt.Errorf("%s has ended within %s of its start with the new certificate", name, steadyFor)
		}
	}
	return nil
}

// sleep waits.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
