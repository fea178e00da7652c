// Package apitest gives tests a real API server: etcd and kube-apiserver on
// loopback, in a folder of their own, gone when the tests are over. There are
// no controllers, no scheduler and no nodes; RBAC, the Node authorizer and
// NodeRestriction are on, so that a test may impersonate who it likes.
//
// A package's tests share servers:
//
//	func TestMain(m *testing.M) { apitest.Main(m) }
//
//	func TestX(t *testing.T) { config := apitest.Start(t) … }
//
// A server belongs to one test at a time: tests that run one after the other
// share one, and of those that call t.Parallel six run at once. With Start,
// objects outlive a test, so a test names its own; with Fresh, they do not. The
// programs come from KUBE_ASSETS, a list of folders as in PATH, or else from
// the lab's cache. A test that does not find them fails; only -short skips it.
package apitest
