// Package kube has clients for the few kinds of Kubernetes that an agent and the guard read
// and write. They are made of the same generic clients (gentype) and send the same requests
// as those of client-go's clientset. But that one links every kind of Kubernetes and
// registers them when a program starts, which costs each agent 8 MiB of memory.
//
// The interfaces here are parts of those of client-go's typed clients, so a function that
// takes a Resource accepts either.
//
// Kinds has clients for the kinds of this project.
package kube
