package soak

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// Of runtime.g's atomicstatus: https://go.dev/src/runtime/runtime2.go
const (
	statusIdle  = 0
	statusDead  = 6
	statusExtra = 10 // of a program with cgo: no goroutine
	statusScan  = 0x1000
)

// goroutines counts the goroutines of a process, as a debugger does: the runtime lists them in
// runtime.allgs. The process runs meanwhile, so the number may be off by some that begin or
// end now.
func (p Process) goroutines() (int, error) {
	program, err := elf.Open(fmt.Sprintf("/proc/%d/exe", p.PID))
	if err != nil {
		return 0, err
	}
	defer program.Close() //nolint:errcheck // it is only read
	list, err := symbol(program, "runtime.allgs")
	if err != nil {
		return 0, err
	}
	offset, err := member(program, "runtime.g", "atomicstatus")
	if err != nil {
		return 0, err
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.PID))
	if err != nil {
		return 0, err
	}
	defer memory.Close() //nolint:errcheck // it is only read
	return count(memory, list, offset)
}

// count counts the goroutines in the slice at list that have not ended.
func count(memory io.ReaderAt, list, offset uint64) (int, error) {
	header := make([]byte, 16) // where the slice is, and its length
	if err := read(memory, header, list); err != nil {
		return 0, fmt.Errorf("reading runtime.allgs: %w", err)
	}
	pointers := make([]byte, 8*binary.LittleEndian.Uint64(header[8:]))
	if err := read(memory, pointers, binary.LittleEndian.Uint64(header)); err != nil {
		return 0, fmt.Errorf("reading runtime.allgs: %w", err)
	}
	live, status := 0, make([]byte, 4)
	for ; len(pointers) > 0; pointers = pointers[8:] {
		if err := read(memory, status, binary.LittleEndian.Uint64(pointers)+offset); err != nil {
			return 0, fmt.Errorf("reading a goroutine: %w", err)
		}
		switch binary.LittleEndian.Uint32(status) &^ statusScan {
		case statusIdle, statusDead, statusExtra:
		default:
			live++
		}
	}
	return live, nil
}

func read(memory io.ReaderAt, into []byte, address uint64) error {
	_, err := memory.ReadAt(into, int64(address)) //nolint:gosec // user addresses are below 1<<47
	return err
}

func symbol(program *elf.File, name string) (uint64, error) {
	symbols, err := program.Symbols()
	if err != nil {
		return 0, fmt.Errorf("the program was built without symbols: %w", err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value, nil
		}
	}
	return 0, fmt.Errorf("the program has no symbol %s", name)
}

// member returns the offset of a struct's field.
func member(program *elf.File, structure, field string) (uint64, error) {
	info, err := program.DWARF()
	if err != nil {
		return 0, fmt.Errorf("the program was built without debug information: %w", err)
	}
	for entries := info.Reader(); ; {
		entry, err := entries.Next()
		if err != nil || entry == nil {
			return 0, fmt.Errorf("no field %s.%s: %w", structure, field, err)
		}
		if entry.Tag != dwarf.TagStructType || entry.Val(dwarf.AttrName) != structure {
			continue
		}
		kind, err := info.Type(entry.Offset)
		if err != nil {
			return 0, err
		}
		for _, f := range kind.(*dwarf.StructType).Field {
			if f.Name == field {
				return uint64(f.ByteOffset), nil //nolint:gosec // offsets are not negative
			}
		}
	}
}
