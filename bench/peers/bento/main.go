// Bento with nothing but what the pipeline beside this file needs, so that it builds in minutes. `make bench-peers` puts it
// into a copy of a Bento checkout and builds it there.
package main

import (
	"context"

	_ "github.com/warpstreamlabs/bento/public/components/aws"
	_ "github.com/warpstreamlabs/bento/public/components/pure"
	"github.com/warpstreamlabs/bento/public/service"
)

func main() {
	service.RunCLI(context.Background())
}
