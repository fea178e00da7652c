//go:build !linux

package apitest

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
