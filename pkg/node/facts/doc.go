// Package facts collects the facts about a node on the host itself: what is installed, merged
// and active, what preflight checks need, and whether the kubelet works.
//
// It only reads. If a file is missing, unreadable or of an unusual kind, the facts from
// it are left out and a problem is reported; all other facts are collected. The same
// files give the same facts, in the same order.
//
// It asks systemd which process is the kubelet and how a service is started, and reads itself only what systemd reads at each
// start: the files that EnvironmentFile= names. How units pull each other in it reads from the
// files, too, because systemd calls a unit that a link below /usr starts disabled.
package facts
