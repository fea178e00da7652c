package cli

import "time"

// A machine that runs tests beside each other may be busy for longer than a person waits.
func init() { completionTimeout = time.Minute }
