package serve

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

const (
	// probeInterval bounds how long a client can hang on a backend that died
	// without closing its connections, as a node does that loses power.
	probeInterval = time.Second
	probeTimeout  = 2 * time.Second
	// patienceFor is how many probes in a row must fail, as a machine may be busy.
	patienceFor = 2
)

// watch probes every backend at each interval.
func (b *balancer) watch(ctx context.Context) {
	client := readyClient()
	failures := map[string]int{}
	ticks := time.NewTicker(probeInterval)
	defer ticks.Stop()
	for {
		addresses, err := Backends(b.stateDir)
		if err == nil {
			b.probeAll(ctx, client, addresses, failures)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (b *balancer) probeAll(ctx context.Context, client *http.Client, addresses []string, failures map[string]int) {
	results := make([]health, len(addresses))
	var probes sync.WaitGroup
	for i, address := range addresses {
		probes.Go(func() { results[i] = probe(ctx, client, address) })
	}
	probes.Wait()
	if ctx.Err() != nil {
		return
	}
	for i, address := range addresses {
		if results[i] != dead {
			failures[address] = 0
		} else if failures[address]++; failures[address] < patienceFor {
			continue
		}
		b.pool.set(address, results[i])
	}
}

// probe needs no credentials: kubeadm's clusters allow anonymous reads of /readyz.
func probe(ctx context.Context, client *http.Client, address string) health {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return dead
	}
	response, err := client.Do(request)
	if err != nil {
		return dead
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return unready
	}
	return ready
}

// readyClient does not check who answers: the balancer hands on bytes, and
// its clients check the certificate. Each probe is a new connection, since
// that is what the next client will need.
func readyClient() *http.Client {
	return &http.Client{
		Timeout: timelimit.Scale(probeTimeout),
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // whether it answers is asked, and nothing is told
			DisableKeepAlives: true,
		},
	}
}
