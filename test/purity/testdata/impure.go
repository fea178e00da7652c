package impure

import (
	"net/http"
	"os"
	clock "time"

	"k8s.io/client-go/rest"
)

var (
	_ = clock.Now
	_ = os.Args
	_ = http.Get
	_ rest.Config
)

func init() { println(); go main() }

func main() {}
