package former

// PatternOf is patternOf.
func PatternOf(at []any) string { return patternOf(at) }

// Fields returns the fields of the table but those whose value alone has another name.
func Fields() (all []string) {
	for _, f := range fields {
		if f.values == nil {
			all = append(all, f.kind+" "+f.at+" "+f.was)
		}
	}
	return all
}
