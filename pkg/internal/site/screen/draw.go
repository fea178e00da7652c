package main

import (
	"bytes"
	"fmt"
	"html"
	"time"
)

const (
	padding = 14.0
	caption = 26.0
)

// draw returns the recording as an SVG. The frames lie below each other, and a window moves over
// them. Where nothing moves (printed, or for readers who want it so), the last frame is shown.
func draw(c cast) []byte {
	frames, seconds := c.frames()
	width, height := float64(c.Width)*charWidth+2*padding, float64(c.Height)*lineHeight
	var out bytes.Buffer
	add := func(format string, args ...any) { fmt.Fprintf(&out, format, args...) }
	label := "A terminal: " + c.Command
	add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" role=\"img\" aria-label=\"%s\">\n", width, height+2*padding+caption, width, html.EscapeString(label))
	add("<title>%s</title>\n<style>%s\n", html.EscapeString(label), style)
	add(".film { transform: translateY(-%gpx); animation: film %.2fs step-end infinite; }\n@keyframes film {\n", float64(len(frames)-1)*height, seconds)
	for i, f := range frames {
		add("%.3f%% { transform: translateY(-%gpx); }\n", 100*f.at/seconds, float64(i)*height)
	}
	add("}\n@media (prefers-reduced-motion: reduce) { .film { animation: none; } }\n@media print { .film { animation: none; } }\n</style>\n<defs>\n")

	names := map[string]int{"": -1} // rows that are alike are drawn once
	for _, f := range frames {
		for _, row := range f.rows {
			if _, known := names[row]; !known {
				names[row] = len(names)
				add("<g id=\"r%d\">%s</g>\n", names[row], row)
			}
		}
	}
	add("</defs>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#0f131a\"/>\n")
	add("<svg x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\">\n<g class=\"film\">\n", padding, padding, width-2*padding, height)
	for i, f := range frames {
		for y, row := range f.rows {
			if row != "" {
				add("<use href=\"#r%d\" y=\"%g\"/>\n", names[row], float64(i)*height+float64(y)*lineHeight+13)
			}
		}
	}
	add("</g>\n</svg>\n<text x=\"%g\" y=\"%g\" class=\"caption\">%s</text>\n</svg>\n", padding, height+2*padding+10, html.EscapeString(c.caption()))
	return out.Bytes()
}

// caption says when and how the recording was made.
func (c cast) caption() string {
	text := "Recorded on real nodes, " + time.Unix(c.Timestamp, 0).UTC().Format(time.DateOnly)
	if factor, from, until := c.speed(); factor > 1 {
		text += fmt.Sprintf("; the upgrade took %s and is shown %.0f times faster", time.Duration((until-from)*float64(time.Second)).Round(time.Second), factor)
	}
	return text + "."
}

const style = `
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e8ecf3; white-space: pre; }
.b { font-weight: 700; }
.c0 { fill: #a4aebf; } .c1 { fill: #ff7a70; } .c2 { fill: #5cc383; } .c3 { fill: #e3a33c; }
.c4 { fill: #8ab8ff; } .c5 { fill: #f07ab3; } .c6 { fill: #3ab9ca; } .c7 { fill: #e8ecf3; }
.caption { fill: #a4aebf; font-size: 12px; }`
