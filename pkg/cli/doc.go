// Package cli is the kubectl plugin: one file a verb, a thin skin that reads
// arguments, asks the API server, and has package render draw.
//
// It promises to drive no node: it shows, asks and declares intent, and the
// coordinator and the agents do the rest, so to end it in the middle harms
// nothing. What goes wrong is one line on standard error, with the next thing
// to try. Exit codes: 0 done, 1 error, 2 a plan has something to do
// (--exit-code), 3 the upgrade that was followed failed, 4 waiting timed out,
// 130 interrupted.
package cli
