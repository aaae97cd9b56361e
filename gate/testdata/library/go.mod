module example.com/library

go 1.26.0

require github.com/nsgate/nsgate v0.0.0

replace github.com/nsgate/nsgate => ../../..
