package render

// Paragraph breaks a text into lines that fit.
func Paragraph(text string, o Options) []string {
	lines := wrap(text, o.Width)
	for i, line := range lines {
		lines[i] = o.paint(line, plain)
	}
	return lines
}
