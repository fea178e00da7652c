//go:build !linux

package apiserver

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
