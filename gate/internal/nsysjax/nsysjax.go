// Package nsysjax takes the reports of Nsight Systems out of the archives that nsys-jax and nsys-jax-combine write
// (NVIDIA's JAX-Toolbox), and out of any other .zip of reports, such as an artifact of a CI job.
//
// nsys-jax puts NAME.nsys-rep into NAME.zip, beside tables (.parquet) that were made from it, dumps of XLA and sources.
// nsys-jax-combine puts several such archives into one, where a table that differs becomes a directory: rank1 of
// thread-metadata.parquet is thread-metadata.parquet/rank1. How the program ended is in none of them.
package nsysjax

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/cells"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// Sniff reports whether a file of that name that begins with head is for [Reports]: it begins as every .zip does, or it is
// an empty file named .zip, which nsys-jax leaves where it failed.
func Sniff(name string, head []byte) bool {
	if len(head) == 0 {
		return strings.EqualFold(filepath.Ext(name), ".zip")
	}
	for _, start := range []string{"PK\x03\x04", "PK\x05\x06", "PK\x07\x08"} { // a file, no file, one of several disks
		if bytes.HasPrefix(head, []byte(start)) {
			return true
		}
	}
	return false
}

// limits bounds what an archive can make of the disk.
type limits struct {
	reports int    // number of reports
	size    uint64 // bytes of all reports, unpacked
}

var usual = limits{reports: 1024, size: 16 << 30}

// Reports unpacks the reports (.nsys-rep, .qdrep) of an archive into dir and returns their paths, sorted by their names
// in the archive. A report beside which its export lies (.sqlite) is left out for it. Nothing else is unpacked, and what
// is in an archive within the archive is not looked for. A report holds environment variables of the workload, so dir
// must be private to the user; the files in it are (0600), under names of our own.
//
// An archive that is damaged, holds no report, not all the reports of what it combines, or one twice, gives a
// *measure.Refusal; an archive that cannot be opened, or a dir that cannot be written, an ordinary error, as does the
// end of ctx. In each case no file is left.
func Reports(ctx context.Context, archive, dir string) ([]string, error) {
	return unpack(ctx, archive, dir, usual)
}

func unpack(ctx context.Context, archive, dir string, most limits) (files []string, err error) {
	a := source{name: show(filepath.Base(archive)), most: most}
	info, err := os.Stat(archive)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, model.Refuse(model.NoFile, "give an archive that nsys-jax wrote", "%s is no file", a.name)
	case info.Size() == 0:
		return nil, model.Refuse(model.EmptyFile, "see what nsys-jax said, and record the workload again",
			"%s is an empty file, as nsys-jax leaves it where the program failed or its condition did not hold", a.name)
	}
	from, err := zip.OpenReader(archive)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // no path of the archive is ever used
		if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, model.Refuse(model.Truncated, "let nsys-jax finish, "+copyAgain,
				"%s is no whole archive: the list of files at its end is missing or damaged", a.name)
		}
		return nil, err
	}
	defer from.Close()
	reports, err := a.choose(from.File)
	if err != nil {
		return nil, err
	}
	for i, r := range reports {
		file := filepath.Join(dir, fmt.Sprintf("%03d-%s%s", i, plain(r.stem), r.ext))
		to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// source is an archive, as messages call it.
type source struct {
	name string
	most limits
}

// copy unpacks a report.
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
	// A reader that checks sizes and checksum: what it says at the end decides.
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
