// Criproxy stands between a kubelet and containerd, and says that the node has no
// network: `criproxy LISTEN CONTAINERD`, both of them sockets. The kubelet runs,
// is healthy, and never reports its Node as Ready. Everything but that answer is
// containerd's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: criproxy LISTEN CONTAINERD")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "criproxy:", err)
		os.Exit(1)
	}
}

func run(listen, containerd string) error {
	// A proxy that was killed leaves its socket.
	if err := os.Remove(listen); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(containerd), Protocols: http2()} //nolint:gosec // its only client is the kubelet
	return server.Serve(listener)
}

// http2 is what gRPC speaks on a socket: HTTP/2 without TLS.
func http2() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

func handler(containerd string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "containerd"
		},
		Transport: &http.Transport{
			Protocols: http2(),
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", containerd)
			},
		},
		FlushInterval:  -1,
		ModifyResponse: endWithStatus,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/runtime.v1.RuntimeService/Status", noNetwork)
	mux.Handle("/", proxy)
	return mux
}

// endWithStatus moves the gRPC status of an answer without a body from its headers
// to its trailers: a flush would otherwise part them from the end of the answer,
// where the kubelet looks for it.
func endWithStatus(answer *http.Response) error {
	for name, values := range answer.Header {
		if strings.HasPrefix(name, "Grpc-") {
			if answer.Trailer == nil {
				answer.Trailer = http.Header{}
			}
			answer.Trailer[name] = values
			delete(answer.Header, name)
		}
	}
	return nil
}

func noNetwork(w http.ResponseWriter, _ *http.Request) {
	message := status()
	frame := []byte{0, 0, 0, 0, byte(len(message))} //nolint:gosec // below 128 bytes, not compressed
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	if _, err := w.Write(append(frame, message...)); err != nil {
		return // the kubelet is gone
	}
	w.Header().Set("Grpc-Status", "0")
}

// status is a StatusResponse of the CRI: its field 1 is the RuntimeStatus, whose
// field 1 repeats the conditions.
func status() []byte {
	ready := append(text(1, "RuntimeReady"), 2<<3, 1)
	network := append(text(1, "NetworkReady"), 2<<3, 0)
	network = append(network, text(3, "BrokenOnPurpose")...)
	network = append(network, text(4, "the network is broken on purpose")...)
	return text(1, string(text(1, string(ready)))+string(text(1, string(network))))
}

// text encodes a field of a protobuf message that has a length below 128.
func text(field byte, value string) []byte {
	return append([]byte{field<<3 | 2, byte(len(value))}, value...) //nolint:gosec // as above
}
