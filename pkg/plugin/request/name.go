package request

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// CheckName returns an error that says of what an object's name consists, if this is none:
// a DNS subdomain (RFC 1123).
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q must be of %s", name, NameRule(validation.DNS1123SubdomainMaxLength))
	}
	return nil
}

// NameRule says of what a name of at most so many characters consists.
func NameRule(most int) string {
	return fmt.Sprintf("up to %d lower-case letters, digits, '-' and '.', and begin and end with a letter or digit", most)
}
