//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

const (
	loadWriters = 8
	loadBytes   = 32 << 20
	probeBytes  = 8 << 10 // about what etcd writes at once
	probeEvery  = 50 * time.Millisecond
)

const loadText = "`make e2e-speed CASE=Load`" + ` takes a cluster of three control planes and a worker of the [lab](../README.md) from %[1]s to %[2]s by ` + "`kubectl upgrade apply v1.35 --yes`" + `, with ` + "`settleSeconds: 0`" + `, while %[3]d programs write %[4]d MiB again and again to the disk that all nodes have, each time with fsync, so that etcd and kubelets wait for it. How long they wait is shown by a write of %[5]d KiB with fsync every %[6]d ms.`

// TestSpeedLoad measures our own share of a minor on a machine with a slow disk.
func TestSpeedLoad(t *testing.T) {
	dir, err := os.MkdirTemp(filepath.Dir(env("LAB_STATE", "/var/lib/kubectl-upgrade-lab")), "load-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	probe := startWriter(t, filepath.Join(dir, "probe"), probeBytes, probeEvery)
	time.Sleep(10 * time.Second)
	idle := probe.stop(t)
	var load []*diskWriter
	for i := range loadWriters {
		load = append(load, startWriter(t, filepath.Join(dir, fmt.Sprint(i)), loadBytes, 0))
	}
	probe = startWriter(t, filepath.Join(dir, "probe"), probeBytes, probeEvery)
	m := &minorRun{loaded: true}
	m.apply(t)
	busy := probe.stop(t)
	for _, writer := range load {
		writer.stop(t)
	}
	rows, overhead := m.shareRows()
	write(t, performance.Section{
		Name: "load", Order: 14, Title: "Real nodes: a minor on a slow disk",
		Text: fmt.Sprintf(loadText, minorFrom, minorTo, loadWriters, loadBytes>>20, probeBytes>>10, probeEvery.Milliseconds()),
		Tables: []performance.Table{
			{Columns: figures, Rows: [][]string{
				{"the minor", "", seconds(m.ours)},
				{"our own share: no verb, drain or reboot runs", "5 %", overhead},
				{"a small write with fsync, before: median", "", milliseconds(median(idle))},
				{"a small write with fsync, meanwhile: median", "", milliseconds(median(busy))},
				{"a small write with fsync, meanwhile: 99th percentile", "", milliseconds(percentile99(busy))},
			}},
			{Text: sharesText, Columns: shareColumns, Rows: rows},
		},
	})
}

// percentile99 returns the time that one of a hundred exceeds.
func percentile99(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)*99/100]
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// diskWriter writes to a file, each time with fsync.
type diskWriter struct {
	cancel context.CancelFunc
	ended  chan struct{}

	took []time.Duration // of each write
	err  error
}

// startWriter starts a writer that ends with the test at the latest.
func startWriter(t *testing.T, path string, size int, pause time.Duration) *diskWriter {
	ctx, cancel := context.WithCancel(t.Context())
	w := &diskWriter{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for block := make([]byte, size); ctx.Err() == nil && w.err == nil; time.Sleep(pause) {
			began := time.Now()
			w.err = writeSynced(path, block)
			w.took = append(w.took, time.Since(began))
		}
	}()
	t.Cleanup(func() { w.stop(t) })
	return w
}

// stop ends the writer, and returns how long each write took.
func (w *diskWriter) stop(t *testing.T) []time.Duration {
	w.cancel()
	<-w.ended
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w.took
}

func writeSynced(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
