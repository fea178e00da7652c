// Package trace exports the course of an upgrade that has ended as an OpenTelemetry trace,
// with a span for each node and each of its steps.
//
// It promises that a trace is made from the UpgradeRecord alone, so that it needs no state
// and says the same as `kubectl upgrade history`; that it is sent in the background and
// delays no upgrade; and that it is off unless an address is given. It writes OTLP over
// HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp), which is small enough
// to need no SDK.
package trace
