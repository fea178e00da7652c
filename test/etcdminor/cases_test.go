//go:build etcdminor

package etcdminor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// promoteLearner has a fourth member join as a learner, as kubeadm does, and vote while versions are mixed. From 3.7 on
// members are read from the database at each start, and not from the last snapshot.
func promoteLearner(t *testing.T, from, to build) string {
	c := newCluster(t, from)
	c.replace(c.members[0], to)
	fourth := c.newMember("cp4")
	leader := c.members[1]
	c.lead(leader)
	c.retry("adding a learner", func(ctx context.Context) bool {
		_, err := leader.direct.MemberAddAsLearner(ctx, []string{fourth.peer})
		return err == nil
	})
	c.members = append(c.members, fourth)
	c.start(fourth, from, "existing")
	c.retry("promoting the learner", func(ctx context.Context) bool {
		status, err := fourth.direct.Status(ctx, fourth.client)
		if err != nil {
			return false
		}
		_, err = leader.direct.MemberPromote(ctx, status.Header.MemberId)
		return err == nil
	})
	for _, m := range c.members[1:] {
		c.replace(m, to)
	}
	for _, m := range c.members { // once more, from data that only the new version has written
		c.replace(m, to)
	}
	c.compare(true)
	for _, m := range c.members {
		list, err := m.direct.MemberList(t.Context())
		c.must(err)
		for _, one := range list.Members {
			if one.IsLearner || len(list.Members) != 4 {
				t.Errorf("%s knows the members %v", m.name, list.Members)
			}
		}
	}
	return "a learner that joins and is promoted between the replacements votes, and every member knows it"
}

// snapshotCount is after how many entries of its log a member makes a snapshot, with kubeadm's flags: it reads the entries
// after the last one at each start.
const snapshotCount = 10000

// replayOld starts a member with a log in which a version before the former one has written, and again after the next
// snapshot. etcd 3.5 wrote requests to its second store, which 3.7 does not know.
func replayOld(t *testing.T, before, from, to build) string {
	c := newCluster(t, before)
	for _, m := range c.members {
		c.replace(m, from)
	}
	c.retry("the cluster's version", func(context.Context) bool { return c.clusterVersion(c.members[0]) == from.minor()+".0" })
	first, outcome := c.members[0], "starts"
	c.terminate(first)
	c.start(first, to, "existing")
	if err := c.serves(first); err != nil {
		outcome = "ends with a panic, and " + from.version + " starts again"
		if !strings.Contains(strings.Join(c.log(first), "\n"), "panic") {
			t.Fatal(err)
		}
		c.start(first, from, "existing")
		c.await(first)
	}
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for n := range snapshotCount * 11 / 10 / writers {
				if _, err := c.members[1].direct.Put(t.Context(), "x", strconv.Itoa(n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for range 2 {
		for _, m := range c.members {
			c.replace(m, to)
		}
	}
	c.compare(true)
	return fmt.Sprintf("with a log that %s began, %s %s; after the next snapshot (%d entries) it starts", before.version, to.version, outcome, snapshotCount)
}

// refuseTransaction sends a transaction that a user may not do since 3.6.11 to a member of the former version: it puts a
// value and reads the one before, without the right to read. Each member decides by itself when it applies the transaction.
func refuseTransaction(t *testing.T, from, to build) string {
	c := newCluster(t, from)
	ctx := t.Context()
	old, replaced := c.members[1], c.members[0]
	_, err := old.direct.Put(ctx, "x", "before")
	c.must(err)
	for _, name := range []string{"root", "writer"} {
		_, err = old.direct.UserAdd(ctx, name, name)
		c.must(err)
		_, err = old.direct.RoleAdd(ctx, name)
		c.must(err)
		_, err = old.direct.UserGrantRole(ctx, name, name)
		c.must(err)
	}
	_, err = old.direct.RoleGrantPermission(ctx, "writer", "x", "", clientv3.PermissionType(clientv3.PermWrite))
	c.must(err)
	_, err = old.direct.AuthEnable(ctx)
	c.must(err)
	c.must(replaced.direct.Close())
	replaced.direct = c.connect("root", replaced)
	c.replace(replaced, to)
	_, err = c.connect("writer", old).Txn(ctx).Then(clientv3.OpPut("x", "after", clientv3.WithPrevKV())).Commit()
	outcome := "refused"
	if err == nil {
		outcome = "done"
	}
	values := map[string]string{}
	for _, m := range []*member{old, replaced} {
		c.retry("reading from "+m.name, func(ctx context.Context) bool {
			answer, err := c.connect("root", m).Get(ctx, "x", clientv3.WithSerializable())
			if err == nil {
				values[m.runs.version] = string(answer.Kvs[0].Value)
			}
			return err == nil
		})
	}
	return fmt.Sprintf("with etcd's own users, a transaction that %s refuses is %s: %s has the value %q, %s the value %q",
		to.version, outcome, from.version, values[from.version], to.version, values[to.version])
}
