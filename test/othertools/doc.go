// Package othertools tests what this project ships for other programs with these programs'
// own code: the health checks for Argo CD with its Lua, and the snippets of docs/images.md with
// Butane and Cluster API's bootstrap provider. It is a module of its own, as nothing else needs these.
package othertools
