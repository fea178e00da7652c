package artifacts

// Reporter is called when a step begins. Steps whose result is in the cache already are
// not reported. Steps do not overlap.
type Reporter func(name string) Step

// Step is a step that runs.
type Step interface {
	// Progress reports which part of the step is done, from 0 to 1, and what it
	// consists of, such as "1204 of 2728 packages". Not every step reports it.
	Progress(part float64, text string)
	// End is called once, with the error that the step ended with.
	End(err error)
}

// Silent is a Reporter that shows nothing.
func Silent(string) Step { return silentStep{} }

type silentStep struct{}

func (silentStep) Progress(float64, string) {}
func (silentStep) End(error)                {}

// step runs do as a step, so that progress can report what it has done.
func (c *Cache) step(name string, do func() error) error {
	step := c.Report(name)
	c.setRunning(step)
	err := do()
	c.setRunning(nil)
	step.End(err)
	return err
}

func (c *Cache) setRunning(step Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = step
}

// progress reports the progress of the step that runs.
func (c *Cache) progress(part float64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		c.running.Progress(part, text)
	}
}
