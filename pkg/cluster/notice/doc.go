// Package notice tells chats and programs about upgrades.
//
// It promises:
//
//   - An event is told at least once, with an id that is the same each time. It is in the
//     upgrade's status, in the same write as what it tells, before anything is sent; so the
//     next leader sends what this one could not.
//   - Nothing waits for it. Notices are sent beside the coordinator's loop, a few at a time,
//     each by a program of its own (package send) that is ended after half a minute, and has
//     limits for its memory and for what it reads and sends.
//   - One that cannot be sent is retried for an hour. A condition of the UpgradePolicy, an
//     event and a metric say so.
//   - An address is a secret: no log, message, error, event or metric has any part of it. So
//     none has the text of an error of the library that sends, nor what a server answered.
//
// What is an event, and its text, is decided from statuses alone (events.go, records.go, text.go).
package notice
