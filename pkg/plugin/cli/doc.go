// Package cli is the kubectl plugin: a file for each verb with its flags, help and
// examples, and small files for what verbs share: how a command runs (run.go), the
// connection (reader.go), output formats, files that are written, the terminal, errors. A
// new verb is a file, a line in New (cli.go), and its part of docs/commands.md.
//
// The verbs are thin. Package request says what a request means, package view turns
// objects into values, package render draws them, and package follow shows an upgrade
// until it has ended.
//
// It promises to drive no node: it shows, asks and writes objects, and the coordinator
// and the agents do the work, so to interrupt it stops nothing. An error is one line on
// standard error with the next thing to try. Exit codes: 0 done, 1 error, 2 a plan has
// something to do (--exit-code), 3 the upgrade that was followed failed, 4 waiting timed
// out, 130 interrupted.
package cli
