// Package devicecode reads the kernels that a compiler left in ELF files, fat binaries and cubins, without a GPU or a CUDA toolkit.
package devicecode

import (
	"cmp"
	"errors"
	"fmt"
)

// Kernel is the compiled code of one kernel for one architecture. Sizes are in bytes.
type Kernel struct {
	File      string `json:"file"`
	Arch      string `json:"arch"` // "sm_90", "sm_90a"
	Name      string `json:"name"` // mangled
	Registers int    `json:"registers"`
	// Stack is the stack of a thread, called functions included: spilled registers and local arrays. It is -1 where recursion
	// leaves it open, and 0 in objects that are still to be linked (-rdc).
	Stack int `json:"stack_bytes"`
	// SpillStores is the size of the code's local stores, each instruction counted once. Spills and local arrays store alike.
	SpillStores int `json:"spill_bytes"`
	Shared      int `json:"shared_bytes"`   // static shared memory of a block
	Constant    int `json:"constant_bytes"` // constant bank 0: parameters and launch state
	Barriers    int `json:"barriers"`
	Code        int `json:"code_bytes"`
	// Hash is the first 16 hexadecimal digits of the SHA-256 of the instructions, relocated ones masked.
	Hash string `json:"hash"`
}

// Compare orders kernels by file, architecture, name and hash.
func (k Kernel) Compare(o Kernel) int {
	return cmp.Or(cmp.Compare(k.File, o.File), cmp.Compare(k.Arch, o.Arch), cmp.Compare(k.Name, o.Name), cmp.Compare(k.Hash, o.Hash))
}

// An Unreadable error says why the device code of a file cannot be judged.
type Unreadable struct {
	File   string
	Reason string // such as "it holds PTX only"
}

func (e *Unreadable) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Reason) }

// ErrNoCode is the cause of an [Unreadable] file that is not a container of device code.
var ErrNoCode = errors.New("no device code")

// The bounds on one file. libtorch_cuda.so, 1.5 GB, has about 100,000 kernels an architecture.
const (
	maxImage   = 512 << 20 // bytes of one decompressed cubin
	maxKernels = 4 << 20
)
