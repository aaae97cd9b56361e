// Package nsysjax takes the reports of Nsight Systems out of the archives that nsys-jax (NVIDIA's JAX-Toolbox) writes,
// and out of any other .zip of reports. Where a report is left out, the tables (.parquet) that were made from it are
// read. nsys-jax-combine puts several archives into one, where a table that differs becomes a directory:
// thread-metadata.parquet/rank1.
package nsysjax

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/output"
	"github.com/nsgate/nsgate/gate/internal/report/cells"
)

// Next steps of the refusals of this package.
const (
	copyAgain   = "copy the archive again, or record the workload again"
	unpackIt    = "unpack it and give the reports (.nsys-rep)"
	keepReports = "give the archives that nsys-jax wrote, or combine them with `nsys-jax-combine --keep-nsys-rep=all`"
)

// Sniff reports whether a file of that name that begins with head is for [Reports]: it begins as every .zip does, or it
// is an empty file named .zip, which nsys-jax leaves where it failed.
func Sniff(name string, head []byte) bool {
	if len(head) == 0 {
		return strings.EqualFold(filepath.Ext(name), ".zip")
	}
	starts := []string{"PK\x03\x04", "PK\x05\x06", "PK\x07\x08"} // a file, no file, one of several disks
	return slices.ContainsFunc(starts, func(s string) bool { return bytes.HasPrefix(head, []byte(s)) })
}

// limits bounds the disk space and files that an archive can take.
type limits struct {
	reports int    // number of reports
	size    uint64 // bytes of all reports, unpacked
}

var usual = limits{reports: 1024, size: 16 << 30}

// Reports unpacks the reports (.nsys-rep, .qdrep) of an archive, or their exports beside them (.sqlite), into dir,
// which must be private: they hold environment variables. It returns their paths, sorted by their names in the
// archive; none where tables must stand for some of them, see [Tables]. An archive that is damaged, holds neither,
// or one recording twice, gives a *model.Refusal. After an error no file is left.
func Reports(ctx context.Context, archive, dir string) (files []string, err error) {
	a, members, from, err := open(archive)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	a.most = usual
	reports, _, err := a.choose(members)
	if err == nil {
		err = a.checkEach(reports)
	}
	if err != nil {
		return nil, err
	}
	for i, r := range reports {
		stem := odd().ReplaceAllString(r.stem[:min(len(r.stem), 60)], "_")
		file := filepath.Join(dir, fmt.Sprintf("%03d-%s%s", i, stem, r.ext))
		to, err := output.New(file)
		if err == nil {
			files = append(files, file)
			err = errors.Join(a.copy(ctx, to, r), to.Close())
		}
		if err != nil {
			for _, file := range files {
				os.Remove(file)
			}
			return nil, err
		}
	}
	return files, nil
}

// open opens an archive and lists its files. The caller closes it.
func open(archive string) (a source, members []*zip.File, from *os.File, err error) {
	a.name = show(filepath.Base(archive))
	from, err = input.Open(archive)
	if errors.Is(err, input.ErrNoFile) {
		err = model.Refuse(model.NoFile, "give an archive that nsys-jax wrote", "%s is no file", a.name)
	}
	if err != nil {
		return a, nil, nil, err
	}
	defer func() {
		if err != nil {
			from.Close()
		}
	}()
	info, err := from.Stat()
	if err != nil {
		return a, nil, nil, err
	}
	if info.Size() == 0 {
		return a, nil, nil, model.Refuse(model.EmptyFile, "see what nsys-jax said, and record the workload again",
			"%s is an empty file, as nsys-jax leaves it where the program failed or its condition did not hold", a.name)
	}
	list, err := zip.NewReader(from, info.Size())
	if err == nil || errors.Is(err, zip.ErrInsecurePath) { // no path of the archive is ever used
		return a, list.File, from, nil
	}
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = model.Refuse(model.Truncated, "let nsys-jax finish, "+copyAgain,
			"%s is no whole archive: the list of files at its end is missing or damaged", a.name)
	}
	return a, nil, nil, err
}

func (a source) copy(ctx context.Context, to io.Writer, r member) error {
	damaged := func(what string) error {
		return model.Refuse(model.Damaged, copyAgain, "%s in %s is damaged: %s", r.show(), a.name, what)
	}
	from, err := r.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		return model.Refuse(model.Compressed, unpackIt,
			"%s in %s is compressed by method %d, which is not known", r.show(), a.name, r.Method)
	} else if err != nil {
		return damaged("it is not where the list of files says")
	}
	defer from.Close()
	// The reader checks size and checksum at the end.
	n, err := io.Copy(to, cells.Until(ctx, from))
	var path *os.PathError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: unpacking was interrupted: %w", a.name, ctx.Err())
	case errors.Is(err, zip.ErrChecksum):
		return damaged("its checksum is another")
	case errors.As(err, &path):
		return err // the disk's error, not the archive's
	case err != nil:
		return damaged("it ends early or does not unpack")
	case uint64(n) != r.UncompressedSize64:
		return damaged("it is not as long as the list of files says")
	}
	return nil
}

type member struct {
	*zip.File
	path      string // as in the archive, with "/"
	stem, ext string // of the last component of path
}

func (m member) show() string { return show(path.Base(m.path)) }

// choose finds the reports, or where it lacks some of them the tables. It refuses an archive without either.
func (a source) choose(files []*zip.File) (chosen, tables []member, err error) {
	var reports, exports, raw, archives []member
	kinds := map[string]*[]member{".nsys-rep": &reports, ".qdrep": &reports, ".sqlite": &exports, ".qdstrm": &raw,
		".parquet": &tables, ".zip": &archives, ".tar": &archives, ".tgz": &archives, ".7z": &archives}
	named := map[string]int{}
	combined := map[string]bool{} // the recordings whose tables it holds
	regular := 0
	for _, f := range files {
		m := newMember(f)
		if m.path == "" {
			continue
		}
		regular++
		kind := kinds[m.ext]
		if kind == nil {
			table, base := path.Ext(path.Dir(m.path)), path.Base(m.path)
			if table != ".parquet" && table != ".xz" || strings.HasPrefix(base, "_") {
				continue
			}
			kind, combined[base] = &tables, true
		}
		*kind = append(*kind, m)
		if named[m.path]++; named[m.path] > 1 {
			return nil, nil, model.Refuse(model.Damaged, "give the reports (.nsys-rep) themselves", "%s lists %s twice",
				a.name, m.show())
		}
	}
	// A report is left out if its export is there.
	without := func(m member) string { return path.Join(path.Dir(m.path), m.stem) }
	chosen = slices.Concat(exports, slices.DeleteFunc(reports, func(r member) bool {
		return slices.ContainsFunc(exports, func(e member) bool { return without(e) == without(r) })
	}))
	measure.Sort(chosen, func(a, b member) int { return strings.Compare(a.path, b.path) })
	for _, m := range chosen {
		raw = slices.DeleteFunc(raw, func(r member) bool { return r.stem == m.stem })
		delete(combined, m.stem)
	}
	switch missing := slices.Sorted(maps.Keys(combined)); {
	case len(raw) > 0:
		err = model.Refuse(model.ImporterFailed, "import it with the nsys that wrote it, or record the workload again",
			"%s in %s was never made a report: nsys could not import it", raw[0].show(), a.name)
	case (len(chosen) == 0 || len(missing) > 0) && slices.ContainsFunc(tables,
		func(m member) bool { return m.recording() != "" }):
		return nil, tables, nil
	case len(chosen) == 0 && len(tables) > 0:
		names := measure.Map(tables, func(m member) string { return path.Base(m.path) })
		err = model.Refuse(model.OtherFormat, keepReports,
			"%s holds %d tables (%s), but neither a report of nsys nor %s",
			a.name, len(tables), show(strings.Join(names, ", ")), projected)
	case len(chosen) == 0 && len(archives) > 0:
		err = model.Refuse(model.OtherFormat, "unpack it and give those",
			"%s holds %s and no report of nsys; archives within it are not opened", a.name,
			archives[0].show()+more(len(archives)))
	case len(chosen) == 0:
		err = model.Refuse(model.OtherFormat, "give an archive that nsys-jax wrote, or a report (.nsys-rep)",
			"%s holds no report of nsys (%d files)", a.name, regular)
	case len(missing) > 0:
		err = model.Refuse(model.SeveralProcesses, keepReports,
			"%s combines more recordings than it holds reports of: none of %s", a.name,
			show(missing[0])+more(len(missing)))
	}
	return chosen, nil, err
}

// newMember names a file. The path is "" for anything else: a directory, a link, a device, an entry that macOS adds.
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
		return model.Refuse(model.TooLarge, unpackIt, "%s holds %d recordings, more than %d", a.name, len(chosen),
			a.most.reports)
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
		size += m.UncompressedSize64
		if size > a.most.size || m.UncompressedSize64 > a.most.size {
			return model.Refuse(model.TooLarge, unpackIt, "the recordings in %s are larger than %d MB", a.name,
				a.most.size>>20)
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

// more counts the names behind the first of n: " and 2 more".
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

// odd matches a character that is not written into the name of a file.
var odd = input.Pattern(`[^A-Za-z0-9._-]`)

// source is an archive by its name in messages.
type source struct {
	name string
	most limits
}
