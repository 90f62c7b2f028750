//go:build !linux

package svc

func free(string) uint64 { return 0 }
