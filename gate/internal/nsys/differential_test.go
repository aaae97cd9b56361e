package nsys

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nsgate/nsgate/gate/internal/model"
	"pgregory.net/rapid"
)

// readSQL is [Read] with every row read through SQLite.
func readSQL(ctx context.Context, file string) ([]model.Trace, error) {
	db, err := open(ctx, file, filepath.Base(file))
	if err != nil {
		return nil, err
	}
	defer db.close()
	clear(db.plain)
	return (&reader{db: db}).read(file)
}

// compareReaders checks that the pages give what SQLite gives. It reports whether they were refused where SQLite reads on.
func compareReaders(t rapid.TB, file string) (stricter bool) {
	fast, err := Read(context.Background(), file)
	slow, errSQL := readSQL(context.Background(), file)
	switch {
	case err == nil && errSQL == nil:
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Fatalf("%s: traces (-SQLite +pages):\n%s", file, diff)
		}
	case err == nil:
		t.Fatalf("%s: SQLite refuses what the pages give: %v", file, errSQL)
	case errSQL == nil:
		var refusal *model.Refusal
		if !errors.As(err, &refusal) || refusal.Kind != "damaged" || !strings.Contains(err.Error(), "(page ") {
			t.Fatalf("%s: only the pages are refused: %v", file, err)
		}
		return true
	}
	return false
}

// Both readers agree on every recording and on exports of every age, which are read from their pages.
func TestReadersAgree(t *testing.T) {
	files := recordings(t)
	for i := range ages {
		files = append(files, ages[i].write(t))
	}
	files = append(files, build(t, small...), build(t, with(kernelRows(5000, ""))...))
	fromPages := 0
	for _, file := range files {
		if compareReaders(t, file) {
			t.Errorf("%s: the pages are refused", file)
		}
		if db, err := open(t.Context(), file, filepath.Base(file)); err == nil {
			if _, ok := db.plain[kernelTable]; ok && db.pages != nil {
				fromPages++
			} else if db.columns[kernelTable] != nil {
				t.Logf("%s: SQLite has to read it", file)
			}
			db.close()
		}
	}
	if fromPages < len(ages)/2 {
		t.Errorf("%d of %d files are read from their pages", fromPages, len(files))
	}
}

// Both readers agree on damaged files, or both refuse; the pages may be refused where SQLite reads on. NSGATE_MUTATIONS is how
// many files are tried.
func TestReadersAgreeOnDamage(t *testing.T) {
	const fewest = 300
	n := fewest
	if more, err := strconv.Atoi(os.Getenv("NSGATE_MUTATIONS")); err == nil {
		n = more
	}
	whole, err := os.ReadFile(build(t, small...))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "damaged.sqlite")
	random := rand.New(rand.NewPCG(1, 2))
	stricter, read := 0, 0
	for range n {
		content := bytes.Clone(whole)
		for range 1 + random.IntN(4) {
			at := len(magic) + random.IntN(len(content)-len(magic))
			if random.IntN(2) == 0 { // the headers of pages and the places of cells, where a byte matters most
				at = random.IntN(len(content)/512)*512 + random.IntN(24)
			}
			content[max(at, len(magic))] = byte(random.IntN(256) >> random.IntN(8))
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if compareReaders(t, file) {
			stricter++
		}
		if _, err := Read(t.Context(), file); err == nil {
			read++
		}
	}
	t.Logf("%d damaged files: %d read, both readers the same; %d refused by the pages alone", n, read, stricter)
	if read == 0 || read == n {
		t.Error("the damage is not of the right size")
	}
}
