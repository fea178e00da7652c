// Package rebootmanager recognizes other programs that reboot nodes, kured and FLUO, by
// their DaemonSets and by what they write to Nodes.
package rebootmanager
