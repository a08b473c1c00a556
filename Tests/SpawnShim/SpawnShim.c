#define _GNU_SOURCE
#include "SpawnShim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int tenure_spawn(char *const arguments[], char *const environment[], const char *directory, int *input, int *output,
                 int *errors, pid_t *process) {
    // Of each pipe the reading end, then the writing end: to stdin, from stdout, from stderr.
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int error = 0;
    for (int stream = input ? 0 : 1; stream < 3 && !error; stream++)
        if (pipe2(pipes[stream], O_CLOEXEC) != 0) error = errno;

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (input)
        posix_spawn_file_actions_adddup2(&actions, pipes[0][0], 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipes[2][1], 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawn_file_actions_addchdir_np(&actions, directory);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);

    if (!error) error = posix_spawn(process, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    // What the program holds; and after an error the rest too.
    for (int stream = 0; stream < 3; stream++)
        for (int end = 0; end < 2; end++)
            if (pipes[stream][end] >= 0 && (error || end == (stream == 0 ? 0 : 1))) close(pipes[stream][end]);
    if (input) *input = pipes[0][1];
    *output = pipes[1][0];
    *errors = pipes[2][0];
    return error;
}
