package metrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// ServerConfig configures a Server.
type ServerConfig struct {
	// Address to listen on, such as ":8443".
	Address string
	// CertFile and KeyFile are PEM files with the certificate and its key, which may be
	// replaced at any time. Empty: the server makes a certificate for itself.
	CertFile, KeyFile string
	// Metrics serves /metrics, to clients that Review lets read it.
	Metrics http.Handler
	Review  *Reviewer
	Log     *slog.Logger
}

// Server serves metrics at /metrics, and, to any client, whether it runs at /readyz.
type Server struct {
	config  ServerConfig
	handler http.Handler
	certs   *certificates
	paused  atomic.Bool
	wake    chan struct{}
}

// NewServer returns a Server that does not listen yet.
func NewServer(config ServerConfig) (*Server, error) {
	certs, err := newCertificates(config.CertFile, config.KeyFile, config.Log)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", config.Review.protect(config.Metrics))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	return &Server{config: config, handler: mux, certs: certs, wake: make(chan struct{}, 1)}, nil
}

// Listen starts or stops listening. A Server listens from the start of Run. It stops
// without waiting for open requests, to leave the address to another process.
func (s *Server) Listen(on bool) {
	if s.paused.Swap(!on) == !on {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// retryAfter is the pause after an address could not be bound.
const retryAfter = 2 * time.Second

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) {
	failing := ""
	for ctx.Err() == nil {
		var err error
		if s.paused.Load() {
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
			continue
		}
		if err = s.serve(ctx); err == nil {
			failing = ""
			continue
		}
		if err.Error() != failing { // once, and not each time it is tried
			failing = err.Error()
			s.config.Log.Warn("the metrics are not served, trying again", "address", s.config.Address, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-time.After(retryAfter):
		}
	}
}

// serve listens until ctx ends or the server is to stop.
func (s *Server) serve(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{
		Handler: s.handler, ConnContext: withConnection, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug), // a client's broken handshake
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: s.certs.get,
			NextProtos: []string{"http/1.1"}, // HTTP/2 has no use here, and has had denials of service
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(&bounded{Listener: listener}, "", "") }()
	s.config.Log.Info("serving metrics", "address", listener.Addr().String())
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("serving: %w", err)
		case <-s.wake:
			if !s.paused.Load() {
				continue
			}
		case <-ctx.Done():
		}
		closing := server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return closing
	}
}
