// Package nodefacts collects the facts about a node that preflight checks need.
//
// It only reads. If a file is missing, unreadable or of an unusual kind, the facts from
// it are left out and a problem is reported; all other facts are collected. The same
// files give the same facts, in the same order.
//
// Units are read by our own few lines and not by go-systemd's package unit, which
// does not read all that systemd does: it refuses a line of 2 KiB, where systemd
// takes one of 1 MiB and a kubelet's command line may be long; it gives up at a line
// without a "="; and it takes a comment within a continued line for a part of it.
// The same lines read the files that EnvironmentFile= names, which it does not read.
package nodefacts
