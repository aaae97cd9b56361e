package app

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/proc"
	"github.com/nsgate/nsgate/gate/internal/read/baseline"
)

// Histories follow a workload, by model of GPU, over the sessions of its baselines below root, those that the git log
// of the baselines still holds, and further moments. shallow is true where the clone may lack a part of the log.
func Histories(ctx context.Context, root, workload string, further []history.Moment) (histories []*history.History,
	shallow bool, err error) {
	baselines, err := openBaselines(ctx, BaselinesOf(root, workload), (*baseline.Baseline).ReadAll)
	if err != nil {
		return nil, false, err
	}
	moments := map[string][]history.Moment{} // by model of GPU
	seen := map[string]bool{}
	anchors := map[string]string{} // by session
	add := func(sessions []model.Session) {
		for i := range sessions {
			s := &sessions[i]
			id := s.GPU + "\x00" + s.GPUHash + "\x00" + s.Start.UTC().Format(time.RFC3339Nano) + "\x00" + s.Tool
			if !seen[id] {
				seen[id] = true
				m := history.MomentOf(s)
				m.Anchor = anchors[s.ID]
				moments[s.GPU] = append(moments[s.GPU], m)
			}
		}
	}
	for _, b := range baselines {
		for _, e := range b.Entries {
			anchors[e.ID] = e.Anchor
		}
		if len(b.InEffect()) > 0 {
			add(b.All())
		}
	}
	past, err := pastBaselines(ctx, BaselinesOf(root, workload))
	if err != nil {
		return nil, false, err
	}
	for _, sessions := range past {
		add(sessions)
	}
	for _, m := range further {
		moments[m.Environment.GPU] = append(moments[m.Environment.GPU], m)
	}
	for _, of := range moments {
		h := history.NewHistory(of)
		h.Workload = workload
		histories = append(histories, h)
	}
	slices.SortFunc(histories, func(a, b *history.History) int { return strings.Compare(a.GPU, b.GPU) })
	return histories, Ask(ctx, "", "rev-parse", "--is-shallow-repository") == "true", nil
}

// pastBaselines are the sessions below a directory as each commit left them, without unreadable commits.
func pastBaselines(ctx context.Context, dir string) (out [][]model.Session, err error) {
	dir = Here(dir)
	log := Ask(ctx, "", "log", "--format=%H", "--", dir)
	if log == "" {
		return nil, nil
	}
	err = proc.InPrivate(func(private string) error {
		for _, id := range strings.Fields(log) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			at := filepath.Join(private, id)
			if (committed{revision: id}).extract(ctx, filepath.ToSlash(dir), at) != nil {
				continue
			}
			filepath.WalkDir(at, func(path string, entry fs.DirEntry, _ error) error {
				if entry != nil && entry.IsDir() {
					if sessions, err := baseline.Read(path); err == nil {
						out = append(out, sessions)
					}
				}
				return nil
			})
		}
		return nil
	})
	return out, err
}
