//go:build browser

package command_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/nsgate/nsgate/gate/internal/cli"
)

// gitHubLook is how GitHub shows a job summary, as far as it matters for what fits: type, tables that scroll, folded
// parts.
const gitHubLook = `<!DOCTYPE html><meta charset="utf-8"><title>summary</title><style>
body{margin:0;padding:24px;width:782px;font:16px/1.5 -apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;color:#1f2328}
table{display:block;width:max-content;max-width:100%;overflow:auto;border-collapse:collapse;margin-bottom:16px}
th,td{padding:6px 13px;border:1px solid #d1d9e0}th{font-weight:600}
code,pre{font:85%/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:#818b981f;border-radius:6px}
code{padding:.2em .4em;white-space:break-spaces}pre{padding:16px;overflow:auto}
h2{padding-bottom:.3em;border-bottom:1px solid #d1d9e0b3}sub{font-size:75%}
</style><body>`

// gitHubWidth is how wide a job summary is on GitHub's page in a window of a usual size.
const gitHubWidth = 830

// TestPageSummary looks at job summaries as GitHub shows them: no table that is not folded away has to be scrolled
// sideways.
func TestPageSummary(t *testing.T) {
	ctx := browser(t)
	in := func(parts ...string) string {
		return filepath.Join(append([]string{"..", "..", "testdata", "h200"}, parts...)...)
	}
	session := func(name string) string { return in("sessions", name, "nvidia-h200") }
	for name, sides := range map[string][2]string{
		"summary-kernels":     {in("kernels", "base"), in("kernels", "saxpy_1.05")},
		"summary-idle":        {in("kernels", "base"), in("kernels", "idle_200us")},
		"summary-transformer": {session("transformer-b"), session("unfused-norm-b")},
		"summary-ranks":       {session("ddp"), session("ddp-slow1")},
	} {
		t.Run(name, func(t *testing.T) {
			var out, said, body bytes.Buffer
			if code := cli.Main(context.Background(), []string{"compare", sides[0], sides[1], "--format", "markdown"},
				cli.Streams{Out: &out, Err: &said}); code != cli.ExitFail {
				t.Fatalf("exit code %d: %s", code, said.String())
			}
			markdown := goldmark.New(goldmark.WithExtensions(extension.GFM),
				goldmark.WithRendererOptions(html.WithUnsafe()))
			if err := markdown.Convert(out.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			file := kept(t, name, append([]byte(gitHubLook), body.Bytes()...))
			ctx, cancel := chromedp.NewContext(ctx)
			defer cancel()
			var wide []string
			var picture []byte
			if err := chromedp.Run(ctx, emulation.SetDeviceMetricsOverride(gitHubWidth, 900, 1, false),
				chromedp.Navigate("file://"+file),
				chromedp.Evaluate(`[...document.querySelectorAll("table")].filter(e => !e.closest("details") && e.scrollWidth > e.clientWidth).map(e => e.scrollWidth + " of " + e.clientWidth + ": " + e.textContent.trim().slice(0, 60))`, &wide),
				chromedp.FullScreenshot(&picture, 100)); err != nil {
				t.Fatal(err)
			}
			if len(wide) > 0 {
				t.Errorf("to be scrolled: %q", wide)
			}
			if *shots != "" {
				if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
