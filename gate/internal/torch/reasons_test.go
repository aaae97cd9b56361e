package torch

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/reasonstest"
)

func TestReasons(t *testing.T) {
	reasonstest.Check(t, Reasons, map[string]int{".refuse": 1, ".refuseLine": 0, "broken": 1})
}
