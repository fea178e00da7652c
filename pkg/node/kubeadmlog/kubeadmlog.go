// Package kubeadmlog names the marks of kubeadm's output in an agent's log. The agent
// writes them, and `kubectl upgrade status NODE --log` reads them.
//
// A run is a line with Begin and the key of its request, a line with Line for each line
// of output, and a line with End, the key, and OK or Failed. An agent that has just started
// writes the run again from its first line, so a reader takes what follows the last Begin.
package kubeadmlog

// The marks, each at the start of a line.
const (
	Begin = "kubeadm-log begin "
	Line  = "kubeadm-log |"
	End   = "kubeadm-log end "
)

// How a run ended.
const (
	OK     = "OK"
	Failed = "FAILED"
)
