// Package workload reads and writes what kubectl-upgrade has in the clusters that Cluster API made.
//
// It reaches them by the Secret NAME-kubeconfig in the management cluster, which is an
// administrator's, and gives up these rights at once: every request is made in the name of a
// ServiceAccount there, which has only the rights that this program needs.
package workload
