package render

import (
	"strings"
	"testing"
)

// TestWidth checks that columns are aligned, whatever letters their texts have.
func TestWidth(t *testing.T) {
	for _, width := range []int{0, 60, 100} {
		o := Options{Width: width}
		rows := [][]cell{{{"w1", plain}, {"plain", plain}, {"behind", plain}}}
		for _, text := range []string{"東京-節點", "e\u0301a\u0300", "👩‍🚒 on call", "ไทย"} {
			rows = append(rows, []cell{{"w1", plain}, {text, plain}, {"behind", plain}})
		}
		at := map[int]bool{}
		table := o.table([]string{"NODE", "BY", "WHY"}, rows)
		for line := range strings.Lines(table) {
			if before, _, is := strings.Cut(line, "behind"); is {
				at[textWidth(before)] = true
			}
		}
		if len(at) != 1 {
			t.Errorf("at a width of %d the last column begins at columns %v:\n%s", width, at, table)
		}
	}
}

// TestCuts checks that no text that is cut or folded takes more columns than there are, and that no letter is lost or
// broken.
func TestCuts(t *testing.T) {
	for _, text := range []string{"control-plane-1", "東京の管理クラスタ", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "👩‍🚒👩‍🚒👩‍🚒👩‍🚒👩‍🚒"} {
		for room := 3; room < 12; room++ {
			for name, got := range map[string]string{"cut": Options{}.cut(text, room), "middle": middle(text, room)} {
				if textWidth(got) > room || !strings.Contains(got, "…") && got != text {
					t.Errorf("%s(%q, %d) = %q", name, text, room, got)
				}
			}
			folded := fold([]string{text}, room)
			for _, line := range folded {
				if textWidth(line) > room {
					t.Errorf("fold(%q, %d) = %q", text, room, folded)
				}
			}
			if strings.Join(folded, "") != text {
				t.Errorf("fold(%q, %d) = %q", text, room, folded)
			}
		}
	}
	if got := fold([]string{"東"}, 1); len(got) != 1 || got[0] != "東" {
		t.Errorf("a letter that fits nowhere: %q", got)
	}
}
