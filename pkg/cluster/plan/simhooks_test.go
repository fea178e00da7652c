package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// addHook adds a hook to the policy: NAME WHEN [on=LABEL=VALUE] [timeout=SECONDS] [continue].
func (s *sim) addHook(args []string, option map[string]string) error {
	hook := v1alpha1.Hook{Name: args[0], When: v1alpha1.HookPoint(args[1]), CronJobName: args[0], TimeoutSeconds: 600, FailurePolicy: v1alpha1.HookHold}
	if on := option["on"]; on != "" {
		hook.NodeSelector = selector(on)
	}
	if text := option["timeout"]; text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return err
		}
		hook.TimeoutSeconds = int32(seconds)
	}
	if args[len(args)-1] == "continue" {
		hook.FailurePolicy = v1alpha1.HookContinue
	}
	s.policy().Spec.Hooks = append(s.policy().Spec.Hooks, hook)
	return nil
}

// writeTurns writes the turns as the coordinator does. Jobs are created for hooks that were stored as
// running before, and those of an earlier step end as jobEnds says: by default they succeed.
func (s *sim) writeTurns(p plan.Plan) {
	if s.Policy == nil || len(s.Policy.Spec.Hooks)+len(s.Policy.Status.HookTurns) == 0 {
		return
	}
	status := &s.Policy.Status
	if s.HookJobs == nil {
		s.HookJobs = map[string]clusterstate.HookJob{}
	}
	for _, t := range status.HookTurns {
		for _, run := range t.Hooks {
			s.runJob(t, run)
		}
	}
	for _, t := range p.HookTurns {
		for _, run := range t.Hooks {
			s.noteHook(t, run)
		}
	}
	status.HookTurns, status.LastHookTurn = p.HookTurns, p.LastHookTurn
}

func (s *sim) runJob(t v1alpha1.HookTurn, run v1alpha1.HookRun) {
	job := s.HookJobs[run.Job]
	ends := s.jobEnds[run.Name]
	switch {
	case run.State != v1alpha1.HookRunning:
	case ends == "refused":
		s.HookJobs[run.Job] = clusterstate.HookJob{Problem: "CronJob " + run.CronJobName + " does not exist", Refused: true}
	case run.JobUID == "" && job.UID == "":
		s.jobs++
		s.HookJobs[run.Job] = clusterstate.HookJob{UID: fmt.Sprint("job-", s.jobs)}
		s.started = append(s.started, fmt.Sprintf("%s/%s/%d/%d", t.Node, run.Name, t.ID, run.Attempt))
	case ends == "fails":
		job.Ended, job.Reason, job.Message = true, "BackoffLimitExceeded", "the Job failed"
		s.HookJobs[run.Job] = job
	case ends == "gone" && run.JobUID == "": // its finalizer keeps it
	case ends == "gone":
		delete(s.HookJobs, run.Job)
	case ends != "hangs":
		job.Ended, job.Succeeded = true, true
		s.HookJobs[run.Job] = job
	}
}

// noteHook notes a hook's new state for the story.
func (s *sim) noteHook(t v1alpha1.HookTurn, run v1alpha1.HookRun) {
	id := fmt.Sprintf("%d/%s", t.ID, run.Name)
	if run.State == v1alpha1.HookPending || s.hookStates[id] == run.State {
		return
	}
	s.hookStates[id] = run.State
	of := t.Node
	if of == "" {
		of = t.Upgrade.Name
	}
	line := fmt.Sprintf("%s %s %s %s", of, run.Name, run.When, run.State)
	if run.When == v1alpha1.AfterNode || run.When == v1alpha1.AfterUpgrade || run.When == v1alpha1.NodeFailed {
		line += fmt.Sprintf(" (%s)", t.Outcome)
	}
	s.hookNews = append(s.hookNews, strings.TrimSpace(line+" "+run.Reason))
}

// deletePolicy deletes the policy as the API server does, whose admission policy refuses that in the middle of a turn.
func (s *sim) deletePolicy(out *strings.Builder) {
	if s.Policy != nil {
		for _, t := range s.Policy.Status.HookTurns {
			if slices.ContainsFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return !run.Ended() }) {
				fmt.Fprintf(out, "the policy stays: hooks around %s have not ended\n", t.Node)
				return
			}
		}
	}
	s.Policy = nil
}

// news returns what hooks did since it was asked last.
func (s *sim) news() []string {
	news := s.hookNews
	s.hookNews = nil
	return news
}
