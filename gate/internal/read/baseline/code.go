package baseline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// codeScope is that of rows about device code: the subject is the mangled name of a kernel, the key its architecture.
const codeScope = "code"

// codeForm is the value of such a row: registers, stack, spill, shared, constant, barriers, code and hash.
const codeForm = "%d %d %d %d %d %d %d %s"

func codeRows(kernels []devicecode.Kernel) (out []row) {
	for _, k := range kernels {
		out = append(out, row{Scope: codeScope, Subject: escape(k.Name), Key: escape(k.Arch), Note: escape(k.File),
			Value: fmt.Sprintf(codeForm, k.Registers, k.Stack, k.SpillStores, k.Shared, k.Constant, k.Barriers, k.Code,
				k.Hash)})
	}
	return out
}

func (r *row) kernel(c *cells) devicecode.Kernel {
	k := devicecode.Kernel{Name: parse(c, "subject", r.Subject, unescape), Arch: parse(c, "key", r.Key, unescape),
		File: parse(c, "note", r.Note, unescape)}
	if n, err := fmt.Sscanf(r.Value, codeForm, &k.Registers, &k.Stack, &k.SpillStores, &k.Shared, &k.Constant,
		&k.Barriers, &k.Code, &k.Hash); err != nil || n != 8 || len(strings.Fields(r.Value)) != 8 ||
		!codeHash().MatchString(k.Hash) {
		c.fail("value", "%q is no device code (seven numbers and a hash); restore the file from version control",
			r.Value)
	}
	return k
}

// operationScope is that of rows about operations of XLA: the subject is the short name of a kernel, the key its path,
// the note the file relative to the repository, the value the line, the role the function and the unit what is fused
// into it. The order is the program's.
const operationScope = "operation"

func operationRows(all []model.Operation) []row {
	return measure.Map(all, func(x model.Operation) row {
		return row{Scope: operationScope, Subject: escape(x.Kernel), Key: escape(x.Path), Value: strconv.Itoa(x.Line),
			Note: escape(x.File), Role: escape(x.Function), Unit: escape(x.Parts)}
	})
}

func (r *row) operation(c *cells) model.Operation {
	return model.Operation{Kernel: parse(c, "subject", r.Subject, unescape), Path: parse(c, "key", r.Key, unescape),
		File: parse(c, "note", r.Note, unescape), Line: parse(c, "value", r.Value, strconv.Atoi),
		Function: parse(c, "role", r.Role, unescape), Parts: parse(c, "unit", r.Unit, unescape)}
}

// codeHash is the form of a hash as [devicecode.Kernel] holds it.
var codeHash = input.Pattern(`^[0-9a-f]{16}$`)
