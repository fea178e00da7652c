package migrate

import (
	"slices"
	"strings"
)

// Variable is a variable of a container's environment.
type Variable struct {
	Name, Value string
	// Unread is why the value is not known, such as "from Secret kube-system/slack".
	Unread string
}

// Container is a container's command line and environment.
type Container struct {
	Image     string
	Command   []string
	Args      []string
	Variables []Variable
	// Unread are ConfigMaps and Secrets whose variables are not known, such as "Secret
	// kube-system/kured": each may set any flag.
	Unread []string
	// HostPaths are the host's folders that it mounts, by the path in the container.
	HostPaths map[string]string
}

// variable returns the last variable of that name, as the container sees it.
func (c Container) variable(name string) (Variable, bool) {
	for _, v := range slices.Backward(c.Variables) {
		if v.Name == name {
			return v, true
		}
	}
	return Variable{}, false
}

// expand replaces $(NAME) by the variable's value, as Kubernetes does in a command: an
// unknown name stays, and $$ is a dollar sign. unread is why a value is not known.
func (c Container) expand(word string) (expanded, unread string) {
	var b strings.Builder
	for word != "" {
		start := strings.IndexByte(word, '$')
		if start < 0 || start == len(word)-1 {
			break
		}
		b.WriteString(word[:start])
		word = word[start:]
		end := strings.IndexByte(word, ')')
		switch {
		case word[1] == '$':
			b.WriteByte('$')
			word = word[2:]
		case word[1] == '(' && end > 0:
			if v, known := c.variable(word[2:end]); known {
				b.WriteString(v.Value)
				if v.Unread != "" {
					unread = v.Unread
				}
			} else {
				b.WriteString(word[:end+1])
			}
			word = word[end+1:]
		default:
			b.WriteByte('$')
			word = word[1:]
		}
	}
	return b.String() + word, unread
}
