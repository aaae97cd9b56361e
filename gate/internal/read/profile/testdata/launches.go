//go:build ignore

// Command launches lists the durations of the steady launches in exports, for the rules that judge single launches
// instead of runs: go run gate/internal/read/profile/testdata/launches.go EXPORT… > launches.csv
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/read/profile"
)

// warmup is the number of leading launches that are left out of every kernel; kernels with fewer than 50 are no part
// of the steps.
const warmup, fewest = 6, 50

func main() {
	fmt.Println("run,kernel,ns")
	run := 0
	for _, file := range os.Args[1:] {
		recording, err := profile.Tools{}.Open(context.Background(), file)
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range recording.Traces {
			times := make([][]string, len(t.Kernels))
			for _, l := range t.Launches {
				times[l.Kernel] = append(times[l.Kernel], fmt.Sprint(l.End-l.Start))
			}
			for k, ns := range times {
				if len(ns) >= fewest {
					fmt.Printf("%d,%s,%s\n", run, t.Kernels[k].Subject.Short(), strings.Join(ns[warmup:], " "))
				}
			}
			run++
		}
	}
}
