//go:build linux && !amd64 && !arm64

package confine

import (
	"fmt"
	"runtime"
)

func restrictCalls() error {
	return fmt.Errorf("nsgate has no filter of system calls for %s", runtime.GOARCH)
}
