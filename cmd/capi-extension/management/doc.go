// Package management reads Cluster API's objects in the management cluster, and writes there what an
// upgrade in place needs: marks on Machines, events, and a touch that has an owner ask again.
package management
