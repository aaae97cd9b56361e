//go:build race

package command_test

func init() { raceFlags = []string{"-race"} }
