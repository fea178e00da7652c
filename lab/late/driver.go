package main

import (
	"context"
	"log"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Where a kubelet looks for plugins, and where the driver serves.
const (
	registry = "/var/lib/kubelet/plugins_registry/"
	plugins  = "/var/lib/kubelet/plugins/"
)

// offerDriver serves a CSI driver that has no volume, and the socket at which the kubelet finds it.
func offerDriver(ctx context.Context, name, node string) error {
	driver := plugins + name + "/csi.sock"
	if err := serve(ctx, driver, func(s *grpc.Server) { s.RegisterService(csiNode(node), nil) }); err != nil {
		return err
	}
	return serve(ctx, registry+name+"-reg.sock", func(s *grpc.Server) {
		registration.RegisterRegistrationServer(s, &registrar{name: name, endpoint: driver})
	})
}

// csiNode is the one call of the service csi.v1.Node that a kubelet makes to register a driver. Its answer has the node's
// ID as its first field, as a StringValue has its value.
func csiNode(node string) *grpc.ServiceDesc {
	handler := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		return wrapperspb.String(node), decode(&emptypb.Empty{})
	}
	return &grpc.ServiceDesc{ServiceName: "csi.v1.Node", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "NodeGetInfo", Handler: handler}}}
}

// registrar tells the kubelet of the driver.
type registrar struct {
	registration.UnimplementedRegistrationServer
	name, endpoint string
}

func (r *registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: r.name, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r *registrar) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	log.Printf("the kubelet has registered the driver: %t %s", status.PluginRegistered, status.Error)
	return &registration.RegistrationStatusResponse{}, nil
}
