package othertools

import (
	_ "github.com/coreos/butane/config"
)
