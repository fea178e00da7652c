package serve

// SetBackends names the apiservers, "10.88.0.11:6443", that the balancer
// spreads connections over.
func SetBackends(stateDir string, addresses []string) error { return nil }
