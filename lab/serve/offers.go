package serve

import "time"

// Offer is one image that the image server has.
type Offer struct {
	// Version has no leading v: "1.34.4".
	Version string
	// File is the name under which it is offered.
	File string
	// SHA256 is what SHA256SUMS says of it, in hex.
	SHA256 string
}

// PublishOptions are the ways in which an offer can be wrong.
type PublishOptions struct {
	// Corrupt serves bytes that differ from what SHA256SUMS promises.
	Corrupt bool
}

// Publish offers the image at imagePath as version, such as "1.34.4". That it
// holds this version is not checked: a test may lie. To publish a version
// again replaces it.
func Publish(stateDir, imagePath, version string, options PublishOptions) error { return nil }

// Withdraw ends the offer. To withdraw what is not offered is no error.
func Withdraw(stateDir, version string) error { return nil }

// Offers lists what is published, oldest version first.
func Offers(stateDir string) ([]Offer, error) { return nil, nil }

// Index serves raw as SHA256SUMS instead of the list of offers, even when it
// is empty. ResetIndex ends that.
func Index(stateDir, raw string) error { return nil }

// ResetIndex serves the list of offers again.
func ResetIndex(stateDir string) error { return nil }

// Down makes the image server answer 503 to everything, until it is called
// with false.
func Down(stateDir string, down bool) error { return nil }

// Request is one request that the image server answered.
type Request struct {
	Time   time.Time `json:"time"`
	Client string    `json:"client"` // address without port
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Status int       `json:"status"`
}

// Requests are all that the image server answered, oldest first.
func Requests(stateDir string) ([]Request, error) { return nil, nil }
