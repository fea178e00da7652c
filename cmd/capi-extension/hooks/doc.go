// Package hooks answers what Cluster API asks: whether a machine can be updated in place, and to do it.
//
// It believes little of a request. What a request may start is read again from the management cluster:
// that Cluster API asks for this Machine now, and that its KubeadmControlPlane or MachineDeployment has
// this version.
//
// An answer with the status Failure has nothing replaced, and Cluster API asks again. An answer without
// patches has the machine replaced, and is given only where a person wants that.
package hooks
