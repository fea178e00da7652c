// Command late has a node's kubelet know a device plugin and a CSI driver, as a pod of a DaemonSet. The file DELAY_FILE of
// the node says how long after its start it registers them, such as 90s, or never; without it, at once.
//
// RESOURCE and COUNT are the devices, such as example.com/gpu and 8, and DRIVER is the driver. NODE is the node's name.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	devices "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const never = "never"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	delay, err := delayOf(os.Getenv("DELAY_FILE"))
	if err != nil {
		return err
	}
	log.Printf("registering in %v", delay) //nolint:gosec // a duration
	if delay < 0 {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(delay):
	}
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		return fmt.Errorf("COUNT: %w", err)
	}
	if err := registerDevices(ctx, os.Getenv("RESOURCE"), count); err != nil {
		return fmt.Errorf("registering the device plugin: %w", err)
	}
	if err := offerDriver(ctx, os.Getenv("DRIVER"), os.Getenv("NODE")); err != nil {
		return fmt.Errorf("offering the CSI driver: %w", err)
	}
	log.Print("registered")
	<-ctx.Done()
	return nil
}

// delayOf reads the delay from a file; less than 0: for ever.
func delayOf(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case strings.TrimSpace(string(text)) == never:
		return -1, nil
	}
	return time.ParseDuration(strings.TrimSpace(string(text)))
}

// serve serves at a socket until ctx ends.
func serve(ctx context.Context, socket string, register func(*grpc.Server)) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	register(server)
	go func() {
		if err := server.Serve(listener); err != nil {
			log.Printf("serving %s: %v", socket, err) //nolint:gosec // the manifest names the socket
		}
	}()
	context.AfterFunc(ctx, server.Stop)
	return nil
}

// registerDevices serves a device plugin, and registers it with the kubelet.
func registerDevices(ctx context.Context, resource string, count int) error {
	const endpoint = "lab-late.sock"
	plugin := &devicePlugin{count: count}
	err := serve(ctx, devices.DevicePluginPath+endpoint, func(s *grpc.Server) { devices.RegisterDevicePluginServer(s, plugin) })
	if err != nil {
		return err
	}
	kubelet, err := grpc.NewClient("unix://"+devices.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = kubelet.Close() }()
	_, err = devices.NewRegistrationClient(kubelet).Register(ctx, &devices.RegisterRequest{Version: devices.Version, Endpoint: endpoint, ResourceName: resource})
	return err
}

// devicePlugin has that many healthy devices.
type devicePlugin struct {
	devices.UnimplementedDevicePluginServer
	count int
}

func (*devicePlugin) GetDevicePluginOptions(context.Context, *devices.Empty) (*devices.DevicePluginOptions, error) {
	return &devices.DevicePluginOptions{}, nil
}

func (p *devicePlugin) ListAndWatch(_ *devices.Empty, stream grpc.ServerStreamingServer[devices.ListAndWatchResponse]) error {
	var list []*devices.Device
	for i := range p.count {
		list = append(list, &devices.Device{ID: fmt.Sprintf("device-%d", i), Health: devices.Healthy})
	}
	if err := stream.Send(&devices.ListAndWatchResponse{Devices: list}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}
