// Package timelimit gives slow machines more time. The lab's time limits fit a
// machine of two ordinary processors.
package timelimit

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Variable is the environment variable with the factor of all time limits: 10 on a
// machine that is ten times slower.
const Variable = "LAB_TIME_FACTOR"

// Check returns an error if the factor is not a number of 1 or more.
func Check() error {
	_, err := parse(os.Getenv(Variable))
	return err
}

// Scale returns the time limit d of an ordinary machine for this one.
func Scale(d time.Duration) time.Duration {
	factor, err := parse(os.Getenv(Variable))
	if err != nil {
		return d // Check has said so
	}
	return time.Duration(float64(d) * factor)
}

func parse(value string) (float64, error) {
	if value == "" {
		return 1, nil
	}
	factor, err := strconv.ParseFloat(value, 64)
	if err != nil || !(factor >= 1 && factor <= 1000) {
		return 0, fmt.Errorf("%s=%s: must be a number from 1 to 1000", Variable, value)
	}
	return factor, nil
}
