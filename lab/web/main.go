// Command web is the service whose clients must not notice an upgrade: it
// answers every request with its pod's name. After SIGTERM it answers for a while
// longer, because it takes a moment until every node knows that the pod is
// terminating. FAREWELL, such as 2m, sets how long.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// farewell is how long a stopping server still accepts new connections, by default.
const farewell = 5 * time.Second

func main() {
	lasts := farewell
	if text := os.Getenv("FAREWELL"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			log.Fatalf("FAREWELL: %v", err)
		}
	}
	if err := serve(lasts); err != nil {
		log.Fatal(err)
	}
}

func serve(farewell time.Duration) error {
	name, _ := os.Hostname()
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(name + "\n"))
		}),
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	stopped := make(chan error)
	go func() {
		<-ctx.Done()
		time.Sleep(farewell)
		stopped <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
