// Package render draws what the plugin shows: values in, text out. It promises
// the same text for the same values: it reads no clock, no terminal and no
// environment, and decides nothing. Color only repeats what the text says.
package render
