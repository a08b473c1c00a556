#ifndef SPAWN_SHIM_H
#define SPAWN_SHIM_H

#include <sys/types.h>

/// Starts a program in a process group of its own, with no descriptors of this process but pipes to it, no signal blocked and
/// none ignored. Swift's view of the C library has neither of the extensions that this needs.
///
/// - Parameters:
///   - arguments: the program's file and its arguments, ended by NULL.
///   - environment: `NAME=value`, ended by NULL.
///   - directory: where it runs.
///   - input: set to where to write what it reads from stdin; when NULL it reads nothing.
///   - output: set to where to read what it writes to stdout.
///   - errors: set to where to read what it writes to stderr.
///   - process: set to its process number.
/// - Returns: 0, or the error's number.
int tenure_spawn(char *const arguments[], char *const environment[], const char *directory, int *input, int *output,
                 int *errors, pid_t *process);

#endif
