package api_test

import "testing"

// refusal is an invalid object. The server's message must name the field and what is wrong.
type refusal struct {
	name  string
	spec  string
	field string
	words string
}

func refuse(t *testing.T, kind string, rows []refusal) {
	client := server(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := dryRun(client, object(t, kind, row.spec))
			check(t, row.spec, err, row.field, row.words)
		})
	}
}
