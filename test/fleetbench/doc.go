// Package fleetbench measures a fleet of which only the nodes are pretended: `make
// bench-fleet NODES=50,500`. It consists of a test with the build tag "fleet".
//
// Real are etcd and kube-apiserver, the coordinator as a process of its own with its
// ServiceAccount's token, the plugin, and the code of the agents, which run together in one
// process: TestFleet of package agent, which also does what their kubelets would. Each agent
// has its own connections. Their hosts only pretend.
//
// Requests are counted in the audit log of the API server, by the client's name, verb and
// kind; watches and their bytes in its metrics; the bytes of an agent at its connections.
package fleetbench
