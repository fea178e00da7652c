// Package markdown draws a report in GitHub's Markdown, short enough for a change ticket.
// What comes from the cluster is escaped: it is text, never a link, an image, a mention or
// HTML.
package markdown
