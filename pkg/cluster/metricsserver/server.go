package metricsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a Server.
type Config struct {
	// Address to listen on, such as ":8443".
	Address string
	// CertFile and KeyFile are PEM files with the certificate and its key, which may be
	// replaced at any time. Empty: the server makes a certificate for itself.
	CertFile, KeyFile string
	// Metrics serves /metrics, to clients that Review lets read it.
	Metrics http.Handler
	Review  *Reviewer
	// Ready reports whether the program is ready. Nil: it is.
	Ready func() bool
	Log   *slog.Logger
}

// Server serves metrics at /metrics, and, to any client, whether it runs at /readyz.
type Server struct {
	config  Config
	handler http.Handler
	certs   *certificates
	paused  atomic.Bool
	wake    chan struct{}
	failing atomic.Pointer[failure]

	listening atomic.Bool
}

// failure is why the address cannot be listened at.
type failure struct {
	text  string
	since time.Time
}

// lastingAfter is how long the address may be taken before that is a problem: of two coordinators on one node the leader
// listens, and the other one may not have stopped yet.
const lastingAfter = time.Minute

// Problem returns why the metrics have not been served for a while; empty: they are, or need not be. known is false until that
// is clear.
func (s *Server) Problem() (problem string, known bool) {
	failing := s.failing.Load()
	switch {
	case s.paused.Load():
		return "", false // another replica serves, and leads
	case failing == nil:
		return "", s.listening.Load()
	case time.Since(failing.since) < lastingAfter:
		return "", false
	}
	return failing.text, true
}

// New returns a Server that does not listen yet.
func New(config Config) (*Server, error) {
	certs, err := newCertificates(config.CertFile, config.KeyFile, config.Log)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", config.Review.protect(config.Metrics))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if config.Ready != nil && !config.Ready() {
			http.Error(w, "the program has not read yet what it needs", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
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
	for ctx.Err() == nil {
		if s.paused.Load() {
			s.failing.Store(nil)
			select {
			case <-ctx.Done():
			case <-s.wake:
			}
			continue
		}
		err := s.serve(ctx)
		if err == nil {
			continue
		}
		if before := s.failing.Load(); before == nil || before.text != err.Error() { // once, and not each time it is tried
			s.failing.Store(&failure{err.Error(), time.Now()})
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
	s.failing.Store(nil)
	s.listening.Store(true)
	defer s.listening.Store(false)
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
	go func() { ended <- server.ServeTLS(Bound(listener, maxConnections, maxOfClient), "", "") }()
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

const (
	// maxConnections is how many connections are open at a time. Each costs about 64 KiB.
	maxConnections = 256
	// maxOfClient is how many of them a client may have.
	maxOfClient = 32
)

// Bound returns the listener with a limited number of open connections, in all and of one client.
func Bound(listener net.Listener, total, ofClient int) net.Listener {
	return &bounded{Listener: listener, total: total, ofClient: ofClient}
}

// bounded is a listener with a limited number of open connections. A connection beyond the
// limit ends another one: the oldest of the client that has most of those that are not
// trusted. So a client that opens many ends its own, and one whose token was accepted keeps
// its connection.
type bounded struct {
	net.Listener
	total, ofClient int

	mutex sync.Mutex
	open  []*connection // the oldest first
}

// connection is an open connection of a bounded listener.
type connection struct {
	net.Conn
	listener *bounded
	client   netip.Prefix
	trusted  bool // the last token on it may read the metrics
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, listener: b, client: clientOf(accepted.RemoteAddr().String())}
	if surplus := b.add(c); surplus != nil {
		_ = surplus.Close()
	}
	return c, nil
}

// add adds a connection, and returns the one to close if there are too many.
func (b *bounded) add(c *connection) *connection {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.open = append(b.open, c)
	of := map[netip.Prefix]int{}
	for _, one := range b.open {
		of[one.client]++
	}
	crowd := c.client
	switch {
	case of[crowd] > b.ofClient:
	case len(b.open) > b.total:
		for _, one := range b.open {
			if !one.trusted && of[one.client] > of[crowd] {
				crowd = one.client
			}
		}
	default:
		return nil
	}
	oldest := slices.IndexFunc(b.open, func(one *connection) bool { return !one.trusted && one.client == crowd })
	return b.open[oldest] // there is one: c is not trusted yet
}

// Close implements net.Conn.
func (c *connection) Close() error {
	b := c.listener
	b.mutex.Lock()
	b.open = slices.DeleteFunc(b.open, func(one *connection) bool { return one == c })
	b.mutex.Unlock()
	return c.Conn.Close()
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// withConnection implements http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(*tls.Conn); is {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// trust sets whether the request's connection stays open when there are too many, and uses the
// budget of accepted tokens. A refused token ends both: otherwise a client with one good token
// could send any number of others.
func trust(ctx context.Context, on bool) {
	if c, found := ctx.Value(connectionKey{}).(*connection); found { // not in a test of the handler
		c.listener.mutex.Lock()
		defer c.listener.mutex.Unlock()
		c.trusted = on
	}
}

// trusted reports whether the last token on the request's connection was accepted.
func trusted(ctx context.Context) bool {
	c, found := ctx.Value(connectionKey{}).(*connection)
	if !found {
		return false
	}
	c.listener.mutex.Lock()
	defer c.listener.mutex.Unlock()
	return c.trusted
}

// clientOf returns the client of an address with a port: an IPv4 address, or the /64 network
// of an IPv6 address, since a host may use all addresses of that network.
func clientOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := parsed.Addr().Unmap()
	client, err := ip.WithZone("").Prefix(min(ip.BitLen(), 64))
	if err != nil {
		return netip.Prefix{}
	}
	return client
}
