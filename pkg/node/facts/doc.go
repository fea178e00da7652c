// Package facts collects the facts about a node on the host itself: what is installed, merged
// and active, what preflight checks need, and whether the kubelet works.
//
// It only reads. If a file is missing, unreadable or of an unusual kind, the facts from
// it are left out and a problem is reported; all other facts are collected. The same
// files give the same facts, in the same order.
//
// It parses units itself, because go-systemd's package unit does not accept all that
// systemd does: it refuses a line of 2 KiB, where systemd accepts 1 MiB and a kubelet's
// command line may be long; it fails at a line without a "="; and it reads a comment
// within a continued line as a part of that line. The same parser reads the files that
// EnvironmentFile= names, which that package does not support.
package facts
