//go:build fleet

package fleetbench

import "time"

// result is what was measured of one size.
type result struct {
	Nodes   int
	Date    string
	Machine string
	Pods    int
	// Idle is how long the idle fleet was watched.
	Idle         time.Duration
	IdleRequests counts
	IdleCPU      map[string]float64 // cores, by program

	// Wall is how long the upgrade took, and Best how long it would with programs that take no
	// time.
	Wall, Best time.Duration
	Budget     int
	CPU        map[string]float64 // seconds during the upgrade, by program
	Memory     map[string]float64 // MiB at most, by program
	Requests   counts
	In, Out    int64 // bytes of the agents' connections during the upgrade

	Watches    map[string]float64 // that are open at the API server, by kind
	WatchBytes map[string]float64 // sent during the upgrade, by kind

	EtcdBefore, EtcdManaged, EtcdAfter int64
	Objects                            map[string]objects

	Commands, CommandCPU map[string]time.Duration

	Restart restart
}

// counts are requests by client, verb and kind.
type counts map[string]map[string]int

// objects are those of one kind in etcd.
type objects struct {
	Number, Bytes, Largest int
}

// restart is how the fleet takes a restart of the API server.
type restart struct {
	Away time.Duration
	// Ready is how long after its start the API server is ready, Watching until all watches
	// are open again (at most: it is asked when it is ready), and Quiet until the last request
	// of an agent.
	Ready, Watching, Quiet time.Duration
	// These are the renewals of Leases as kubelets make them, from when the API server was
	// ready until all was quiet for half a minute.
	Answered, Failed int
	Median, Slowest  time.Duration
	Requests         counts
	Busiest          int // the most requests of agents in one second
	Levels           map[string]level
}

// level is what a priority level did since the API server's start.
type level struct {
	Dispatched, Rejected float64
	Waited               time.Duration // the longest wait in the queue: the upper bound of its bucket
}
