//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// pagedStory is a test in steps that are written to the page E2E_RESULT while it runs, if there
// is one: in a virtual machine it takes long.
type pagedStory struct {
	test  *testing.T
	began time.Time
}

// chapter is a step of the story, of which the later ones need the earlier ones.
type chapter struct {
	name string
	run  func(*testing.T)
}

func begin(t *testing.T) pagedStory {
	t.Helper()
	s := pagedStory{t, time.Now()}
	s.note(t, "the test begins")
	return s
}

// play runs the chapters until one fails. isVoid reports whether one that has failed since then
// says nothing.
func (s *pagedStory) play(chapters []chapter, isVoid func(t *testing.T, began time.Time) bool) {
	s.test.Helper()
	for _, chapter := range chapters {
		began := time.Now()
		passed := s.test.Run(chapter.name, chapter.run)
		result := map[bool]string{true: "passed", false: "FAILED"}[passed]
		if isVoid(s.test, began) {
			result += ", and void"
		}
		s.note(s.test, fmt.Sprintf("%s: %s", chapter.name, result))
		if !passed {
			s.test.FailNow()
		}
	}
}

// stepPrefix is what a line of the page begins with.
const stepPrefix = "- after "

// note adds a line to the page.
func (s *pagedStory) note(t *testing.T, what string) {
	t.Helper()
	line := fmt.Sprintf("%s%s: %s\n", stepPrefix, time.Since(s.began).Round(time.Second), what)
	t.Log(line)
	page := os.Getenv("E2E_RESULT")
	if page == "" {
		return
	}
	f, err := os.OpenFile(page, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line); err != nil {
		t.Fatal(err)
	}
}
