package nsysjax

import (
	"archive/zip"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// member is a file in the archive.
type member struct {
	*zip.File
	path      string // as in the archive, with "/"
	stem, ext string // of the last component of path
}

func (m member) show() string { return show(path.Base(m.path)) }

// choose finds the reports, and refuses an archive of which they would not be all.
func (a source) choose(files []*zip.File) ([]member, error) {
	var reports, exports, raw, archives []member
	named := map[string]int{}
	combined := map[string]bool{} // the recordings of which it holds tables
	tables, regular := 0, 0
	for _, f := range files {
		m := newMember(f)
		if m.path == "" {
			continue
		}
		regular++
		kind := &raw
		switch m.ext {
		case ".nsys-rep", ".qdrep":
			kind = &reports
		case ".sqlite":
			kind = &exports
		case ".qdstrm":
		case ".zip", ".tar", ".tgz", ".7z":
			kind = &archives
		case ".parquet":
			tables++
			continue
		default:
			table := path.Ext(path.Dir(m.path))
			if base := path.Base(m.path); (table == ".parquet" || table == ".xz") && !strings.HasPrefix(base, "_") {
				tables++
				combined[base] = true
			}
			continue
		}
		*kind = append(*kind, m)
		if named[m.path]++; named[m.path] > 1 {
			return nil, Reasons.Refuse("listed-twice", a.name, m.show())
		}
	}
	chosen := prefer(exports, reports)
	if len(chosen) == 0 {
		return nil, a.refuseNone(raw, archives, tables, regular)
	}
	if err := a.checkAll(chosen, raw, combined); err != nil {
		return nil, err
	}
	return chosen, a.checkEach(chosen)
}

// newMember names a file; the path is "" for what is none: a directory, a link, a device, what macOS adds.
func newMember(f *zip.File) member {
	m := member{File: f, path: path.Clean("/" + strings.ReplaceAll(f.Name, `\`, "/"))}
	base := path.Base(m.path)
	if !f.Mode().IsRegular() || strings.HasSuffix(f.Name, "/") || strings.HasPrefix(base, "._") || base == "/" {
		return member{File: f}
	}
	m.ext = path.Ext(base)
	m.stem = strings.TrimSuffix(base, m.ext)
	m.ext = strings.ToLower(m.ext)
	return m
}

// prefer merges, sorted by path, and leaves out reports of which there is an export.
func prefer(exports, reports []member) []member {
	key := func(m member) string { return path.Join(path.Dir(m.path), m.stem) }
	exported := map[string]bool{}
	for _, m := range exports {
		exported[key(m)] = true
	}
	reports = slices.DeleteFunc(reports, func(m member) bool { return exported[key(m)] })
	all := slices.Concat(exports, reports)
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.path, b.path) })
	return all
}

// refuseNone says what an archive without a report is.
func (a source) refuseNone(raw, archives []member, tables, files int) error {
	switch {
	case len(raw) > 0:
		return Reasons.Refuse("no-import", raw[0].show(), a.name)
	case tables > 0:
		return Reasons.Refuse("tables-only", a.name)
	case len(archives) > 0:
		return Reasons.Refuse("archives-only", a.name, list(archives))
	}
	return Reasons.Refuse("no-report", a.name, files)
}

// checkAll refuses an archive that says of recordings that it does not hold.
func (a source) checkAll(chosen, raw []member, combined map[string]bool) error {
	have := map[string]bool{}
	for _, m := range chosen {
		have[m.stem] = true
	}
	for _, m := range raw {
		if !have[m.stem] {
			return a.refuseNone([]member{m}, nil, 0, 0)
		}
	}
	maps.DeleteFunc(combined, func(name string, _ bool) bool { return have[name] })
	if len(combined) == 0 {
		return nil
	}
	missing := slices.Sorted(maps.Keys(combined))
	return Reasons.Refuse("reports-missing", a.name, show(missing[0])+more(missing))
}

// checkEach refuses reports that cannot be unpacked, and one that is there twice: it would be taken for two runs.
func (a source) checkEach(chosen []member) error {
	if len(chosen) > a.most.reports {
		return Reasons.Refuse("many-reports", a.name, len(chosen), a.most.reports)
	}
	type content struct {
		size  uint64
		crc32 uint32
	}
	seen := map[content]member{}
	var size uint64
	for _, m := range chosen {
		const encrypted, encryptedStrongly, hidden = 1 << 0, 1 << 6, 1 << 13
		if m.Flags&(encrypted|encryptedStrongly|hidden) != 0 {
			return Reasons.Refuse("encrypted", m.show(), a.name)
		}
		if m.UncompressedSize64 == 0 {
			return Reasons.Refuse("empty-report", m.show(), a.name)
		}
		if size += m.UncompressedSize64; size > a.most.size || m.UncompressedSize64 > a.most.size {
			return Reasons.Refuse("large", a.name, a.most.size>>30)
		}
		c := content{m.UncompressedSize64, m.CRC32}
		if other, again := seen[c]; again {
			return Reasons.Refuse("same-recording", other.show(), m.show(), a.name)
		}
		seen[c] = m
	}
	return nil
}

// list names some files.
func list(members []member) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.show()
	}
	return names[0] + more(names)
}

// more counts what the first name stands for.
func more(names []string) string {
	if len(names) == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", len(names)-1)
}

// show makes a name of the archive fit for a message.
func show(name string) string {
	const longest = 80
	runes := []rune(measure.NormalizeLine(name))
	if len(runes) > longest {
		runes = append(runes[:longest], '…')
	}
	return string(runes)
}

// plain makes a name of the archive fit for a file's name.
func plain(stem string) string {
	const longest = 60
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, stem[:min(len(stem), longest)])
}
