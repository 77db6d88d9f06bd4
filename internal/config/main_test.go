package config_test

import "flag"

var update = flag.Bool("update", false, "write the table of variables into README.md")
