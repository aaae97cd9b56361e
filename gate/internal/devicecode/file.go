package devicecode

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// ReadLines reads the kernels of an ELF executable, library or object, a fat binary or a cubin, in the order of
// [Kernel.Compare], and the lines that wanted ones, by mangled names, were compiled from, inlined functions included.
// name stands in the kernels and in errors. A file without readable device code is an [*Unreadable] error.
func ReadLines(path, name string, wanted []string) ([]Kernel, map[string][]Line, error) {
	f, err := input.Open(path)
	if errors.Is(err, input.ErrNoFile) {
		return nil, nil, unreadable(name, fmt.Errorf("%w: it is no regular file", ErrNoCode))
	}
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	lines := &lineTables{wanted: wanted, lines: map[string][]Line{}}
	kernels, err := read(f, info.Size(), lines)
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	for i := range kernels {
		kernels[i].File = name
	}
	slices.SortFunc(kernels, Kernel.Compare)
	return slices.Compact(kernels), lines.sorted(), nil // several translation units carry copies of one kernel
}

func read(f io.ReaderAt, size int64, lines *lineTables) ([]Kernel, error) {
	var head [20]byte
	if n, _ := f.ReadAt(head[:], 0); n < 4 {
		return nil, fmt.Errorf("%w: it has %d B", ErrNoCode, n)
	}
	switch {
	case binary.LittleEndian.Uint32(head[:]) == fatMagic:
		return fatKernels(io.NewSectionReader(f, 0, size), lines)
	case !isELF(head[:]):
		return nil, fmt.Errorf("%w: it is no ELF file, fat binary or cubin", ErrNoCode)
	case elf.Machine(binary.LittleEndian.Uint16(head[18:])) == machineCUDA:
		if size > maxImage {
			return nil, fmt.Errorf("%w: a cubin of %d bytes is above the bound of %d", errLarge, size, maxImage)
		}
		image := make([]byte, size)
		if _, err := f.ReadAt(image, 0); err != nil && err != io.EOF {
			return nil, err
		}
		return cubin(image, lines)
	}
	return hostKernels(f, size, lines)
}

// fatSections are the sections of a host ELF file that hold fat binaries: linked code, and that of objects for device
// linking (-rdc).
var fatSections = []string{".nv_fatbin", "__nv_relfatbin"}

// hostKernels reads the fat binaries of a host ELF file. Code for device linking counts only where the linked code is
// absent.
func hostKernels(f io.ReaderAt, size int64, lines *lineTables) ([]Kernel, error) {
	file, err := readSections(f, size)
	if err != nil {
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	}
	var ptx error
	for _, name := range fatSections {
		var all []Kernel
		for _, s := range file.list {
			if noBits(&s) || !file.names.is(s.Name, name) || s.Off > uint64(size) {
				continue
			}
			section := io.NewSectionReader(f, int64(s.Off), int64(min(s.Size, uint64(size)-s.Off)))
			kernels, err := fatKernels(section, lines)
			if errors.Is(err, errPTX) {
				ptx = err
			} else if err != nil {
				return nil, err
			}
			all = append(kernels, all...)
		}
		if len(all) > 0 {
			return all, nil
		}
	}
	if ptx != nil {
		return nil, ptx
	}
	return nil, fmt.Errorf("%w: it has no section .nv_fatbin", ErrNoCode)
}

// The bounds on what is held of a file, in MiB.
const (
	maxHeld   = 64 // images at once, as stored and decompressed; one alone may be larger
	keptImage = 2  // the image whose buffers, and zstd's reference to them, are kept for the next
)

// held is the number of MiB, rounded up, that an image takes of maxHeld.
func (e *entry) held() int64 {
	return min(maxHeld, 1+(e.stored+int64(e.size))>>20)
}

// found collects the kernels of images that are read in parallel, and the first error.
type found struct {
	mu      sync.Mutex
	kernels []Kernel
	err     error
}

func (f *found) add(kernels []Kernel, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range kernels {
		k.Name = unique.Make(k.Name).Value() // architectures share names
		f.kernels = append(f.kernels, k)
	}
	if err == nil && len(f.kernels) > maxKernels {
		err = fmt.Errorf("%w: it holds more than %d kernels", errLarge, maxKernels)
	}
	if f.err == nil {
		f.err = err
	}
}

func (f *found) failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}

func fatKernels(r *io.SectionReader, lines *lineTables) ([]Kernel, error) {
	var (
		fat     = fatReader{r: r}
		out     found
		entries = make(chan *entry)
		held    = make(chan struct{}, maxHeld)
		wait    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			d := newDecompressor()
			for e := range entries {
				if !out.failed() {
					out.add(d.kernels(r, e, lines))
				}
				if e.held() > keptImage {
					d = newDecompressor()
				}
				for range e.held() {
					<-held
				}
			}
		})
	}
	var ptx, images int
	var plain uint64
	for !out.failed() {
		e, err := fat.next()
		if err == io.EOF {
			break
		} else if err != nil {
			out.add(nil, err)
			break
		}
		switch e.kind {
		case kindELF:
			images++
			plain += e.size
			if plain > maxPlain+mostGrowth*uint64(r.Size()) {
				out.add(nil, fmt.Errorf("its images have more than %d bytes, decompressed", plain-e.size))
				break
			}
			for range e.held() {
				held <- struct{}{}
			}
			entries <- e
		case kindPTX:
			ptx++
		}
	}
	close(entries)
	wait.Wait()
	switch {
	case out.err != nil:
		return nil, out.err
	case images == 0 && ptx > 0:
		return nil, errPTX
	}
	return out.kernels, nil
}

func (d *decompressor) kernels(r io.ReaderAt, e *entry, lines *lineTables) ([]Kernel, error) {
	image, err := d.image(r, e)
	if err != nil {
		return nil, err
	}
	kernels, err := cubin(image, lines)
	for i := range kernels {
		if k := &kernels[i]; !strings.HasSuffix(k.Arch, e.suffix()) {
			k.Arch += e.suffix() // e_flags of CUDA 13 lack it
		}
	}
	return kernels, err
}

// HasCode reports whether a regular file is a cubin, a fat binary, or an ELF file with a section of device code.
func HasCode(path string) bool {
	f, err := input.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	var head [20]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) {
		return false
	}
	switch {
	case binary.LittleEndian.Uint32(head[:]) == fatMagic:
		return true
	case !isELF(head[:]):
		return false
	case elf.Machine(binary.LittleEndian.Uint16(head[18:])) == machineCUDA:
		return true
	}
	file, err := readSections(f, info.Size())
	return err == nil && slices.ContainsFunc(file.list, func(s elf.Section64) bool { // of a host file
		return slices.ContainsFunc(fatSections, func(name string) bool { return file.names.is(s.Name, name) })
	})
}

// Find lists the files with device code that a pattern names below a directory, see [input.Search.Paths], sorted: the
// pattern is of files or of directories (Triton's cache, a build folder), which are searched with all below them. That
// search follows no links.
func Find(dir, pattern string) ([]string, error) {
	return find(dir, pattern, func(name string, d fs.DirEntry) (bool, error) {
		return d.Type().IsRegular() && HasCode(name), nil
	})
}

// Files lists all files that a pattern names, as [Find] does. A link, a pipe or a device below a directory is an error.
func Files(dir, pattern string) ([]string, error) {
	return find(dir, pattern, func(name string, d fs.DirEntry) (bool, error) {
		if d.IsDir() || d.Type().IsRegular() {
			return !d.IsDir(), nil
		}
		return false, fmt.Errorf("%s is neither a file nor a directory; name it by itself, or what it links to", name)
	})
}

func find(dir, pattern string, wanted func(name string, d fs.DirEntry) (bool, error)) ([]string, error) {
	var all input.Search
	paths, err := all.Paths(dir, pattern)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return unreadable(name, err)
			}
			if err := all.Count(1); err != nil {
				return fmt.Errorf("%q: %w", pattern, err)
			}
			want, err := wanted(name, d)
			if want {
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
