//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/performance"
)

const (
	loadWriters = 2
	loadBytes   = 32 << 20
)

const loadText = "`make bench-lab CASE=Load`" + ` takes a cluster of three control planes and a worker of the [lab](../lab/README.md) from %[1]s to %[2]s by ` + "`kubectl upgrade apply v1.35 --yes`" + `, with ` + "`settleSeconds: 0`" + `, while %[3]d programs write %[4]d MiB again and again to the disk that all nodes have, each time with fsync, so that etcd and kubelets wait for it.`

// TestSpeedLoad measures our own share of a minor on a machine with a slow disk.
func TestSpeedLoad(t *testing.T) {
	load := startLoad(t)
	m := &minorRun{loaded: true}
	m.apply(t)
	writes := load.stop(t)
	rows, overhead := m.shareRows()
	write(t, performance.Section{
		Name: "load", Order: 14, Title: "Real nodes: a minor on a slow disk", Text: fmt.Sprintf(loadText, minorFrom, minorTo, loadWriters, loadBytes>>20),
		Tables: []performance.Table{
			{Columns: figures, Rows: [][]string{
				measuredOn(),
				{"the minor", "", seconds(m.ours)},
				{"our own share: no verb, drain or reboot runs", "5 %", overhead},
				{"a write with fsync, median", "", seconds(median(writes))},
			}},
			{Text: sharesText, Columns: shareColumns, Rows: rows},
		},
	})
}

// diskLoad writes to the disk of the lab until it is stopped.
type diskLoad struct {
	end     context.CancelFunc
	writers sync.WaitGroup

	mu   sync.Mutex
	took []time.Duration // of each write
	err  error
}

func startLoad(t *testing.T) *diskLoad {
	ctx, cancel := context.WithCancel(t.Context())
	load := &diskLoad{end: cancel}
	dir, err := os.MkdirTemp(filepath.Dir(env("LAB_STATE", "/var/lib/kubectl-upgrade-lab")), "load-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		load.writers.Wait()
		os.RemoveAll(dir)
	})
	for i := range loadWriters {
		load.writers.Go(func() { load.write(ctx, filepath.Join(dir, fmt.Sprint(i))) })
	}
	return load
}

func (l *diskLoad) write(ctx context.Context, path string) {
	block := make([]byte, loadBytes)
	for ctx.Err() == nil {
		began := time.Now()
		err := writeSynced(path, block)
		l.mu.Lock()
		l.took, l.err = append(l.took, time.Since(began)), errors.Join(l.err, err)
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// stop ends the load, and returns how long each write took.
func (l *diskLoad) stop(t *testing.T) []time.Duration {
	l.end()
	l.writers.Wait()
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.took
}
