package cli

import (
	"errors"
	"fmt"
	"strings"
)

// maxReason is the API's limit for a reason, in characters.
const maxReason = 256

// checkReason checks the flag --reason.
func checkReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return errors.New("--reason is required: people who wait want to know why")
	}
	return checkLength("reason", reason)
}

// checkLength checks the length of a reason that a flag gives.
func checkLength(flag, reason string) error {
	if length := len([]rune(reason)); length > maxReason {
		return fmt.Errorf("--%s: the reason has %d characters, and %d is the most", flag, length, maxReason)
	}
	return nil
}
