// Package studies holds the built-in study files.
package studies

import "embed"

// Files are the built-in studies, `<name>.yaml` each.
//
//go:embed *.yaml
var Files embed.FS
