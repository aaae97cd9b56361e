package nsysjax

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/reasonstest"
)

func TestReasons(t *testing.T) {
	reasonstest.Check(t, Reasons, map[string]int{".Refuse": 0})
}
