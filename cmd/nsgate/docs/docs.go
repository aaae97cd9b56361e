// Package docs carries the manual's pages and the JSON schemas, so that the binary has them.
package docs

import "embed"

// Files are the pages, TOPIC.md each, and schema/NAME.json.
//
//go:embed *.md schema/*.json
var Files embed.FS
