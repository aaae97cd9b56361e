package command_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nsgate/nsgate/gate/command"
)

// The command within another program.
func ExampleMain() {
	var out, messages bytes.Buffer
	base, head := "../../testdata/h200/kernels/base", "../../testdata/h200/kernels/saxpy_1.05"
	code := command.Main(context.Background(), []string{"compare", "--format", "dotenv", base, head},
		command.Streams{Out: &out, Err: &messages})
	first, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	fmt.Printf("exit code %d, %s%s\n", code, first, messages.Bytes())
	// Output: exit code 1, NSGATE_RESULT_VERDICT=fail
}
