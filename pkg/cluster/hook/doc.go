// Package hook makes the Jobs of the UpgradePolicy's hooks from CronJobs, and tells what has come of
// them. Package plan decides which hooks run.
//
// It promises:
//
//   - What a Job runs, and with which identity, is the CronJob's, word for word. Only annotations of its
//     pod, its deadline and its name are ours.
//   - A Job has a finalizer, so that its end is noticed although another program deletes it. It goes five
//     minutes after the end is in the policy's status.
//   - No Job is created for a hook whose end is in the policy's status.
package hook
