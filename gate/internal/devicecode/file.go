package devicecode

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Read reads the kernels of an ELF executable, library or object, a fat binary or a cubin, in the order of [Kernel.Compare].
// name stands in the kernels and in errors. A file without readable device code is an [*Unreadable] error.
func Read(path, name string) ([]Kernel, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &Unreadable{name, "it is no regular file"}
	}
	kernels, err := read(f, info.Size())
	if err != nil {
		return nil, &Unreadable{name, err.Error()}
	}
	for i := range kernels {
		kernels[i].File = name
	}
	return sorted(kernels), nil
}

func read(f io.ReaderAt, size int64) ([]Kernel, error) {
	var head [20]byte
	if n, err := f.ReadAt(head[:], 0); n < 4 {
		return nil, errors.Join(ErrNoCode, err)
	}
	switch {
	case binary.LittleEndian.Uint32(head[:]) == fatMagic:
		return fatKernels(io.NewSectionReader(f, 0, size))
	case string(head[:4]) != elf.ELFMAG:
		return nil, fmt.Errorf("%w: it is no ELF file, fat binary or cubin", ErrNoCode)
	case elf.Machine(binary.LittleEndian.Uint16(head[18:])) == machineCUDA:
		if size > maxImage {
			return nil, fmt.Errorf("a cubin of %d bytes is above the bound of %d", size, maxImage)
		}
		image := make([]byte, size)
		if _, err := f.ReadAt(image, 0); err != nil && err != io.EOF {
			return nil, err
		}
		return cubin(image)
	}
	return hostKernels(f)
}

// hasCode reports whether f is a cubin, a fat binary, or a host ELF file with a section of device code.
func hasCode(f io.ReaderAt) bool {
	var head [20]byte
	if n, _ := f.ReadAt(head[:], 0); n < len(head) {
		return false
	}
	if binary.LittleEndian.Uint32(head[:]) == fatMagic {
		return true
	}
	if string(head[:4]) != elf.ELFMAG {
		return false
	}
	if elf.Machine(binary.LittleEndian.Uint16(head[18:])) == machineCUDA {
		return true
	}
	file, err := elf.NewFile(f)
	return err == nil && slices.ContainsFunc(file.Sections, func(s *elf.Section) bool { return slices.Contains(fatSections, s.Name) })
}

// fatSections are the sections of a host ELF file that hold fat binaries: linked code, and that of objects for device linking (-rdc).
var fatSections = []string{".nv_fatbin", "__nv_relfatbin"}

// hostKernels reads the fat binaries of a host ELF file. Code for device linking counts only where the linked code is absent.
func hostKernels(f io.ReaderAt) ([]Kernel, error) {
	file, err := elf.NewFile(f)
	if err != nil {
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	}
	var ptx error
	for _, name := range fatSections {
		var all []Kernel
		for _, s := range file.Sections {
			if s.Name != name || s.Type == elf.SHT_NOBITS {
				continue
			}
			kernels, err := fatKernels(io.NewSectionReader(s.ReaderAt, 0, int64(s.FileSize)))
			if errors.Is(err, errPTX) {
				ptx = err
			} else if err != nil {
				return nil, err
			}
			all = append(all, kernels...)
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

var errPTX = errors.New("it holds PTX only, which the driver compiles when the program starts; build for the GPU's architecture (-arch=sm_…)")

// fatKernels reads all kernels of a section of fat binaries, entries in parallel.
func fatKernels(r *io.SectionReader) ([]Kernel, error) {
	var (
		out      []Kernel
		first    error
		ptx, elf int
		mu       sync.Mutex
		wait     sync.WaitGroup
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
	}
	failed := func() bool { mu.Lock(); defer mu.Unlock(); return first != nil }
	entries := make(chan *entry)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			d, err := newDecompressor()
			if err != nil {
				fail(err)
			} else {
				defer d.zstd.Close()
			}
			for e := range entries {
				if failed() {
					continue
				}
				kernels, err := d.kernels(e)
				if err != nil {
					fail(err)
					continue
				}
				mu.Lock()
				out = append(out, kernels...)
				tooMany := len(out) > maxKernels
				mu.Unlock()
				if tooMany {
					fail(fmt.Errorf("it holds more than %d kernels", maxKernels))
				}
			}
		})
	}
	fat := fatReader{r: r}
	for !failed() {
		e, err := fat.next()
		if err == io.EOF {
			break
		} else if err != nil {
			fail(err)
			break
		}
		switch e.kind {
		case kindELF:
			elf++
			entries <- e
		case kindPTX:
			ptx++
		}
	}
	close(entries)
	wait.Wait()
	switch {
	case first != nil:
		return nil, first
	case elf == 0 && ptx > 0:
		return nil, errPTX
	}
	return out, nil
}

func (d *decompressor) kernels(e *entry) ([]Kernel, error) {
	image, err := d.image(e)
	if err != nil {
		return nil, err
	}
	kernels, err := cubin(image)
	for i := range kernels {
		if k := &kernels[i]; !strings.HasSuffix(k.Arch, e.suffix()) {
			k.Arch += e.suffix() // e_flags of CUDA 13 lack it
		}
	}
	return kernels, err
}
