// Package soak measures long-running processes, and reports what grows. It changes nothing
// in what it measures: it reads /proc.
package soak

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a running process.
type Process struct {
	PID int
	// Started is when it started, in clock ticks since this machine's boot. PID and Started
	// together are never used again.
	Started string
}

// Usage is what a process uses.
type Usage struct {
	Memory     int // KiB, without pages of files
	Threads    int
	Files      int
	Goroutines int
}

// OfPod returns the processes of a pod whose command line contains all of the words. The pod
// may run in a container of this machine: its UID is in the name of its control group.
func OfPod(uid string, words ...string) ([]Process, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	var found []Process
	for _, group := range groups {
		text, err := os.ReadFile(group)
		if err != nil || !bytes.Contains(bytes.ReplaceAll(text, []byte("_"), []byte("-")), []byte("pod"+uid)) {
			continue // it has ended meanwhile, or is another pod's
		}
		dir := filepath.Dir(group)
		if !commandHas(dir, words) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, err
		}
		if started, err := startTime(dir); err == nil {
			found = append(found, Process{PID: pid, Started: started})
		}
	}
	return found, nil
}

func commandHas(dir string, words []string) bool {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return false
	}
	for _, word := range words {
		if !bytes.Contains(line, []byte(word)) {
			return false
		}
	}
	return true
}

// startTime returns the 22nd field of stat. The second, the name, may contain spaces.
func startTime(dir string) (string, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("%s/stat has %d fields after the name", dir, len(fields))
	}
	return fields[19], nil
}

// Measure returns what a process uses. It has to be a Go program with debug information.
func (p Process) Measure() (Usage, error) {
	dir := fmt.Sprintf("/proc/%d", p.PID)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		number, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "RssAnon":
			u.Memory = number
		case "Threads":
			u.Threads = number
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return Usage{}, err
	}
	u.Files = len(files)
	u.Goroutines, err = p.goroutines()
	return u, err
}
