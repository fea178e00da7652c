package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// rule is a parsed recurrence: the options for rrule-go, and UNTIL apart, because UNTIL is
// an instant and the rest is on the wall clock.
type rule struct {
	option rrule.ROption
	until  time.Time // zero: no end
}

var frequencies = map[string]rrule.Frequency{
	"DAILY": rrule.DAILY, "WEEKLY": rrule.WEEKLY, "MONTHLY": rrule.MONTHLY, "YEARLY": rrule.YEARLY,
}

var weekdays = map[string]rrule.Weekday{
	"MO": rrule.MO, "TU": rrule.TU, "WE": rrule.WE, "TH": rrule.TH, "FR": rrule.FR, "SA": rrule.SA, "SU": rrule.SU,
}

// The largest INTERVAL and COUNT, here as in the API.
const (
	maxInterval = 1000
	maxCount    = 999999
)

// maxRule is how many characters a rule may have, here as in the API.
const maxRule = 256

// How often a weekday may occur.
const (
	weeksOfMonth = 5
	weeksOfYear  = 53
)

// parseRule parses an RFC 5545 recurrence. It does not use rrule-go's parser, which drops
// some parts silently (a second RRULE, the ordinal of a weekly BYDAY) and never returns
// from others (HOURLY with BYHOUR).
func parseRule(text string) (rule, error) {
	var r rule
	if len(text) > maxRule {
		return r, fmt.Errorf("longer than %d characters", maxRule)
	}
	parts, err := splitRule(text)
	if err != nil {
		return r, err
	}
	freq, ok := frequencies[parts["FREQ"]]
	if !ok {
		return r, fmt.Errorf("FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY")
	}
	r.option.Freq = freq
	for key, value := range parts {
		if err := r.set(key, value); err != nil {
			return r, fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	return r, r.validate()
}

func splitRule(text string) (map[string]string, error) {
	parts := map[string]string{}
	for _, part := range strings.Split(strings.TrimPrefix(strings.ToUpper(text), "RRULE:"), ";") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("%q is not NAME=VALUE, as in FREQ=WEEKLY;BYDAY=SA (RFC 5545; cron lines are not supported)", part)
		}
		if _, twice := parts[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		parts[key] = value
	}
	return parts, nil
}

func (r *rule) set(key, value string) (err error) {
	switch key {
	case "FREQ":
	case "INTERVAL", "COUNT":
		if value[0] == '0' {
			return fmt.Errorf("%q begins with 0", value)
		}
		if key == "COUNT" {
			r.option.Count, err = number(value, 1, maxCount, false)
		} else {
			r.option.Interval, err = number(value, 1, maxInterval, false)
		}
	case "UNTIL":
		r.until, err = time.Parse("20060102T150405Z", value)
		if err != nil {
			err = fmt.Errorf("want an instant in UTC such as 20261231T235959Z")
		}
	case "WKST":
		day, ok := weekdays[value]
		if !ok {
			return fmt.Errorf("not a weekday")
		}
		r.option.Wkst = day
	case "BYMONTH":
		r.option.Bymonth, err = numbers(value, 1, 12, false)
	case "BYMONTHDAY":
		r.option.Bymonthday, err = numbers(value, 1, 31, true)
	case "BYSETPOS":
		r.option.Bysetpos, err = numbers(value, 1, 366, true)
	case "BYDAY":
		r.option.Byweekday, err = days(value, r.option.Freq)
	default:
		err = fmt.Errorf("not supported; known are FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYMONTHDAY, BYDAY and BYSETPOS")
	}
	return err
}

// validate refuses parts that RFC 5545 does not allow together, or on which
// implementations differ.
func (r *rule) validate() error {
	o := r.option
	daily := o.Freq == rrule.DAILY || o.Freq == rrule.WEEKLY
	switch {
	case o.Count > 0 && !r.until.IsZero():
		return fmt.Errorf("COUNT and UNTIL cannot both be given")
	case o.Freq == rrule.WEEKLY && len(o.Bymonthday) > 0:
		return fmt.Errorf("BYMONTHDAY does not go with FREQ=WEEKLY")
	case len(o.Bysetpos) > 0 && (daily || len(o.Byweekday)+len(o.Bymonthday)+len(o.Bymonth) == 0):
		return fmt.Errorf("BYSETPOS needs FREQ=MONTHLY or YEARLY and another BY part")
	}
	// rrule-go panics on some of these: it looks for the day outside the year.
	for _, day := range o.Byweekday {
		if len(o.Bymonth) > 0 && (day.N() > weeksOfMonth || day.N() < -weeksOfMonth) {
			return fmt.Errorf("with BYMONTH, an ordinal of BYDAY counts within the month (to %d)", weeksOfMonth)
		}
	}
	r.spellOutDays()
	return nil
}

// spellOutDays replaces a plain day beside one with an ordinal, as in MO,1TU, by all of its
// ordinals. rrule-go would return only days that are both.
func (r *rule) spellOutDays() {
	days := r.option.Byweekday
	plain := func(day rrule.Weekday) bool { return day.N() == 0 }
	if !slices.ContainsFunc(days, plain) || !slices.ContainsFunc(days, func(day rrule.Weekday) bool { return !plain(day) }) {
		return
	}
	most := weeksOfMonth
	if r.option.Freq == rrule.YEARLY && len(r.option.Bymonth) == 0 {
		most = weeksOfYear
	}
	var all []rrule.Weekday
	for _, day := range days {
		if !plain(day) {
			all = append(all, day)
			continue
		}
		for n := 1; n <= most; n++ {
			all = append(all, day.Nth(n))
		}
	}
	r.option.Byweekday = all
}

// number parses a number from low to high; if signed, also from -high to -low.
func number(text string, low, high int, signed bool) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || !signed && text[0] == '+' || len(strings.TrimLeft(text, "+-")) > max(2, len(strconv.Itoa(high))) {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, low, high)
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
