// Command tlsroll carries out TLS changes on a CDN as a canary, judges guardrails on every minute of data, and rolls back by itself.
//
// The package wires: it reads flags, builds adapters from an explicit list, hands them to the engine and prints what comes. It decides
// nothing. One file is one command; what commands print is in package view.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // plans name time zones, and slim images have none
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}))
}
