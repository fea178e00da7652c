//go:build fleet

package fleetbench

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is a process whose use of the processor and of memory is measured.
type program struct {
	pid  atomic.Int32
	peak atomic.Int64 // KiB since the last reset
}

// start starts a program that ends with the test, and whose output the test prints if it
// fails.
func (c *cluster) start(name string, cmd *exec.Cmd) *program {
	c.Helper()
	output, err := os.Create(filepath.Join(c.TempDir(), name+".log"))
	c.must(err)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.must(cmd.Start())
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, _ := os.ReadFile(output.Name()); c.Failed() {
			c.Logf("the end of the output of %s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	return c.watchProcess(cmd.Process.Pid)
}

// watchProcess reads the memory of a process every half second.
func (c *cluster) watchProcess(pid int) *program {
	p := &program{}
	p.pid.Store(int32(pid))
	ctx := c.Context()
	go func() {
		for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
			if now := p.memory(); now > p.peak.Load() {
				p.peak.Store(now)
			}
		}
	}()
	return p
}

// memory returns the resident memory in KiB.
func (p *program) memory() int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid.Load()))
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib
		}
	}
	return 0
}

// cpu returns the time of the processor that the process has used.
func (p *program) cpu() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid.Load()))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // clock ticks: man 5 proc_pid_stat
}

// usage measures all programs from now on. The function that it returns says what they have
// used since: seconds of the processor, and MiB of memory at most.
func (c *cluster) usage() func() (cpu, memory map[string]float64) {
	before := map[string]float64{}
	for name, p := range c.programs {
		before[name] = p.cpu()
		p.peak.Store(0)
	}
	return func() (cpu, memory map[string]float64) {
		cpu, memory = map[string]float64{}, map[string]float64{}
		for name, p := range c.programs {
			cpu[name], memory[name] = p.cpu()-before[name], float64(p.peak.Load())/1024
		}
		return cpu, memory
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
