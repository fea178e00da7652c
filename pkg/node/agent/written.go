package agent

import corev1 "k8s.io/api/core/v1"

// nodeWrite is the agent's last write to its Node. A watch shows a write a moment later. Until it shows
// another version than it did before the write, the API server's answer counts.
type nodeWrite struct {
	before string // the resourceVersion that the watch showed
	answer *corev1.Node
}

// node returns the Node, or nil: what the watch shows, or what the agent has just written.
func (k *kubeletSense) node() *corev1.Node {
	shown, w := one[*corev1.Node](k.nodes), k.written
	if shown != nil && w.answer != nil && shown.ResourceVersion == w.before && shown.UID == w.answer.UID {
		return w.answer
	}
	k.written = nodeWrite{}
	return shown
}

// write calls write, which returns the API server's answer.
func (k *kubeletSense) write(write func() (*corev1.Node, error)) error {
	shown := one[*corev1.Node](k.nodes)
	answer, err := write()
	if err != nil || shown == nil {
		return err
	}
	_, _ = trim(answer) // as in the watch's cache
	k.written = nodeWrite{before: shown.ResourceVersion, answer: answer}
	return nil
}
