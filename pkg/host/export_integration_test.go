//go:build integration

package host

// SetProgram sets the program that direct verbs run.
func (c *Client) SetProgram(path string) { c.program = path }
