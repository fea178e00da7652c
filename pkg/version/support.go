package version

import "time"

// ends are the last days on which Kubernetes publishes patches of a minor: "End Of Life
// Date" of https://kubernetes.io/releases/1.MINOR/, as of 2026-11-21. The date is fixed
// when a minor is released. Newer minors are not known here.
var ends = map[int]string{
	31: "2025-11-11", 32: "2026-02-28", 33: "2026-06-28", 34: "2026-10-27", 35: "2027-02-28", 36: "2027-06-28", 37: "2027-10-28",
}

// oldest is the first minor in ends; support of those before it has ended.
const oldest = 31

// Support is the kind of support that Kubernetes still gives to a minor.
type Support string

// The kinds of support.
const (
	Supported        Support = "Supported" // until End, which is still to come
	SupportEnded     Support = "Ended"     // on a day before now
	SupportIsUnknown Support = "NotKnown"  // newer than this program
)

// SupportOf returns the support of v's minor at now. end is the last day; zero if it is
// not known.
func (v Version) SupportOf(now time.Time) (support Support, end time.Time) {
	if v.Major != 1 {
		return SupportIsUnknown, time.Time{}
	}
	day, known := ends[v.Minor]
	switch {
	case !known && v.Minor < oldest:
		return SupportEnded, time.Time{}
	case !known:
		return SupportIsUnknown, time.Time{}
	}
	end, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return SupportIsUnknown, time.Time{}
	}
	if now.Before(end.AddDate(0, 0, 1)) {
		return Supported, end
	}
	return SupportEnded, end
}
