package machine

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"

// start runs a verb on the host. A verb that cannot be started has not failed: it counts as
// no attempt, and start retries it after a pause and keeps the reason in the State.
func start(s State, o Observation, v verb.Verb, key string) (State, Action) {
	u := o.Work[v].StartFailure
	if u.Key != key || u.Reason == "" {
		return s, run(v, key)
	}
	s = s.withReason(u.Reason, u.Message)
	if o.Now.Before(u.RetryAt) {
		return s, wait(u.RetryAt)
	}
	return s, run(v, key)
}
