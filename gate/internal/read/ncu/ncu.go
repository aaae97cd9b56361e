// Package ncu reads what `ncu --csv` of Nsight Compute 2021 to 2026 prints: the raw page (a row a launch, a column a
// metric) and the details page (a row a metric), and reports. The metrics of measure.Throughput are derived from ncu's
// by the table in metrics.go. A cell that holds no number gives no metric.
package ncu

import (
	"bufio"
	"cmp"
	"io"

	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/read/counters"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// sizeLimit is how much output [Read] takes, in bytes. A launch of --set full has 30 kB.
const sizeLimit = 128 << 20

// Read reads ncu output, up to 128 MB, with the raw metrics of ncu as metrics of their own. The name stands in messages
// and in [counters.Profile.Source]. Output that cannot be judged (no table, no kernel, no permission, a broken table,
// numbers in another language) is a *model.Refusal.
func Read(r io.Reader, name string, raw ...string) (*counters.Profile, error) {
	in := &io.LimitedReader{R: r, N: sizeLimit + 1}
	pages := pages{name: name, in: bufio.NewReaderSize(cells.UTF8(in), 64<<10),
		notes: notes{name: name, failure: len(failures)}}
	b := newBuilder(name, raw)
	var broken error // the first table that is
	for t := pages.next(); t != nil; t = pages.next() {
		if broken == nil {
			broken = b.table(t)
		}
		io.Copy(io.Discard, t) // messages behind the table may say why it is broken
	}
	if in.N <= 0 {
		return nil, model.Refuse(model.TooLarge, fewer, "%s is larger than %d MB", name, sizeLimit>>20)
	}
	if err := cmp.Or(pages.refusal(), broken); err != nil {
		return nil, err
	}
	b.finish()
	return b.profile, nil
}
