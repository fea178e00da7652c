// Package extension runs the program: it serves Cluster API's hooks over TLS, and watches Machines.
package extension
