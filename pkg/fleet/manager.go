package fleet

// RebootManager is another program that may reboot nodes now, such as kured or
// FLUO. While there is one, no node begins: two of them on one node end badly.
type RebootManager struct {
	// Name of the program.
	Name string `json:"name"`
	// Message says in one sentence what it does, and how to make it stop.
	Message string `json:"message"`
	// Passes reports whether it stops by itself, as when kured's lock is released.
	Passes bool `json:"passes,omitempty"`
}
