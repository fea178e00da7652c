package machine

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"

// start has the host run a verb. What could not be started has not failed: it counts
// as no attempt, is tried again after a pause, and the State says why until it runs.
func start(s State, o Observation, v verb.Verb, key string) (State, Action) {
	u := o.Work[v].Unstarted
	if u.Key != key || u.Reason == "" {
		return s, run(v, key)
	}
	s = s.say(u.Reason, u.Message)
	if o.Now.Before(u.Again) {
		return s, wait(u.Again)
	}
	return s, run(v, key)
}
