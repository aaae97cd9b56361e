package nsysjax

import (
	"archive/zip"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/model"
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
			return nil, model.Refuse(model.Damaged, "give the reports (.nsys-rep) themselves", "%s lists %s twice", a.name, m.show())
		}
	}
	// A report of which there is an export is left out for it.
	without := func(m member) string { return path.Join(path.Dir(m.path), m.stem) }
	chosen := slices.Concat(exports, slices.DeleteFunc(reports, func(r member) bool {
		return slices.ContainsFunc(exports, func(e member) bool { return without(e) == without(r) })
	}))
	slices.SortStableFunc(chosen, func(a, b member) int { return strings.Compare(a.path, b.path) })
	for _, m := range chosen {
		raw = slices.DeleteFunc(raw, func(r member) bool { return r.stem == m.stem })
		delete(combined, m.stem)
	}
	switch missing := slices.Sorted(maps.Keys(combined)); {
	case len(raw) > 0:
		return nil, model.Refuse(model.ImporterFailed, "import it with the nsys that wrote it, or record the workload again",
			"%s in %s was never made a report: nsys could not import it", raw[0].show(), a.name)
	case len(chosen) == 0 && tables > 0:
		return nil, model.Refuse(model.OtherFormat, keepReports+": nsys-jax puts the report (.nsys-rep) beside its tables, which hold NVTX ranges and no kernel",
			"%s holds tables (.parquet) but no report of nsys", a.name)
	case len(chosen) == 0 && len(archives) > 0:
		return nil, model.Refuse(model.OtherFormat, "unpack it and give those",
			"%s holds %s and no report of nsys; archives within it are not opened", a.name, archives[0].show()+more(len(archives)))
	case len(chosen) == 0:
		return nil, model.Refuse(model.OtherFormat, "give an archive that nsys-jax wrote, or a report (.nsys-rep)",
			"%s holds no report of nsys (%d files)", a.name, regular)
	case len(missing) > 0:
		return nil, model.Refuse(model.SeveralProcesses, keepReports,
			"%s combines more recordings than it holds reports of: none of %s", a.name, show(missing[0])+more(len(missing)))
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

// checkEach refuses reports that cannot be unpacked, and one that is there twice: it would be taken for two runs.
func (a source) checkEach(chosen []member) error {
	if len(chosen) > a.most.reports {
		return model.Refuse(model.TooLarge, unpackIt, "%s holds %d reports, more than %d", a.name, len(chosen), a.most.reports)
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
			return model.Refuse(model.Compressed, unpackIt, "%s in %s is encrypted", m.show(), a.name)
		}
		if m.UncompressedSize64 == 0 {
			return model.Refuse(model.EmptyFile, "record the workload again", "%s in %s is empty", m.show(), a.name)
		}
		if size += m.UncompressedSize64; size > a.most.size || m.UncompressedSize64 > a.most.size {
			return model.Refuse(model.TooLarge, unpackIt, "the reports in %s are larger than %d GB", a.name, a.most.size>>30)
		}
		c := content{m.UncompressedSize64, m.CRC32}
		if other, again := seen[c]; again {
			return model.Refuse(model.SameRecording, "give each recording once: two runs are two recordings",
				"%s and %s in %s are the same recording", other.show(), m.show(), a.name)
		}
		seen[c] = m
	}
	return nil
}

// more counts what the first of n names stands for.
func more(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-1)
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
	return odd.ReplaceAllString(stem[:min(len(stem), longest)], "_")
}

// odd is each character, or byte that is part of none, that a file's name does without.
var odd = regexp.MustCompile(`[^A-Za-z0-9._-]`)
