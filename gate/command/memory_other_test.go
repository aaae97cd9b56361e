//go:build !linux

package command_test

func inMemory() string { return "" }
