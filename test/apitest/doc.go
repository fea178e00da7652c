// Package apitest gives tests a real API server: etcd and kube-apiserver on
// loopback, in a folder of their own, gone when the tests are over. There are
// no controllers, no scheduler and no nodes; RBAC, the Node authorizer and
// NodeRestriction are on, so that a test may impersonate who it likes.
//
// A package's tests share one server:
//
//	func TestMain(m *testing.M) { apitest.Main(m) }
//
//	func TestX(t *testing.T) { config := apitest.Start(t) … }
//
// Objects are cluster-wide and outlive a test, so a test names its own. The
// programs come from KUBE_ASSETS, a list of folders as in PATH, or else from
// the lab's cache. A test that does not find them fails; it is never skipped.
package apitest
