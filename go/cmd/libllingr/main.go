// Command libllingr is the C face of the engine: the functions that
// include/llingr.h declares, and the calls of the host's functions. It only
// converts; what the engine does is in internal/.
//
// It is the only package with `import "C"`.
package main

// main is never called: the archive's host has its own.
func main() {}
