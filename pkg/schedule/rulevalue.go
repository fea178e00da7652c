package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/teambition/rrule-go"
)

// number parses a number from low to high; if signed, also from -high to -low.
func number(text string, low, high int, signed bool) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	size := n
	if signed && n < 0 {
		size = -n
	}
	if size < low || size > high {
		return 0, fmt.Errorf("%d is not within %d to %d", n, low, high)
	}
	return n, nil
}

func numbers(text string, low, high int, signed bool) ([]int, error) {
	var list []int
	for _, item := range strings.Split(text, ",") {
		n, err := number(item, low, high, signed)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list, nil
}

// days parses BYDAY. An ordinal such as -1SU has a meaning only within a month
// or a year.
func days(text string, freq rrule.Frequency) ([]rrule.Weekday, error) {
	var list []rrule.Weekday
	for _, item := range strings.Split(text, ",") {
		day, ok := weekdays[item[max(0, len(item)-2):]]
		if !ok {
			return nil, fmt.Errorf("%q is not a weekday: these are MO, TU, WE, TH, FR, SA and SU", item)
		}
		if ordinal := item[:len(item)-2]; ordinal != "" {
			limit := map[rrule.Frequency]int{rrule.MONTHLY: weeksOfMonth, rrule.YEARLY: weeksOfYear}[freq]
			n, err := number(ordinal, 1, limit, true)
			if err != nil {
				return nil, fmt.Errorf("%q: an ordinal goes with FREQ=MONTHLY (to 5) or YEARLY (to 53)", item)
			}
			day = day.Nth(n)
		}
		if !slices.Contains(list, day) {
			list = append(list, day)
		}
	}
	return list, nil
}
