#define _GNU_SOURCE
#include "start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "object.h"

#define IDLE_SECONDS "60" /* after which a driver without clients ends */
enum { START_MS = 120000, RETRY_MS = 5, LIFELINE = 3 };

extern char **environ;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Path of the socket: as nnfast.config.socket_path. */
static bool socket_path(char path[PATH_MAX])
{
    const char *given = variable("NNFAST_SOCKET"), *runtime = variable("XDG_RUNTIME_DIR"), *home = variable("HOME");
    const char *cache = variable("NNFAST_CACHE_DIR"), *user = variable("XDG_CACHE_HOME");
    int size;
    if (given)
        size = snprintf(path, PATH_MAX, "%s", given);
    else if (runtime && *runtime == '/')
        size = snprintf(path, PATH_MAX, "%s/nnfast.sock", runtime);
    else if (cache)
        size = snprintf(path, PATH_MAX, "%s/nnfast.sock", cache);
    else if (user && *user == '/')
        size = snprintf(path, PATH_MAX, "%s/nnfast/nnfast.sock", user);
    else
        size = snprintf(path, PATH_MAX, "%s/.cache/nnfast/nnfast.sock", home ? home : "");
    return size > 0 && size < PATH_MAX;
}

/* Connects within `patience` milliseconds; 0 or an errno. */
static int dial(const char *path, int64_t patience, int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    /* A driver that was stopped does not empty its queue: connecting must not wait for ever. */
    struct timeval limit = {.tv_sec = patience / 1000, .tv_usec = 1000 * (patience % 1000)};
    setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int error = 0;
    while (connect(*fd, (struct sockaddr *)&address, sizeof address))
        if (errno != EINTR) {
            error = errno;
            break;
        }
    struct timeval none = {0};
    setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    if (error)
        close(*fd);
    return error;
}

/* The program that is started: NNFAST_DRIVER, nnfast of the installation that this library is part of, or of PATH. */
static bool find_program(char program[PATH_MAX])
{
    Dl_info here;
    char file[PATH_MAX];
    const char *given = variable("NNFAST_DRIVER"), *path = variable("PATH");
    if (given)
        return snprintf(program, PATH_MAX, "%s", given) < PATH_MAX && !access(program, X_OK);
    if (dladdr((void *)(uintptr_t)find_program, &here) && here.dli_fname && realpath(here.dli_fname, file)) {
        /* PREFIX/lib/pythonX.Y/site-packages/nnfast/lib/libneuralnetworks.so and PREFIX/bin/nnfast */
        char *end = file + strlen(file);
        for (int up = 0; up < 6 && end; up++) {
            *end = 0;
            end = strrchr(file, '/');
        }
        if (end && snprintf(program, PATH_MAX, "%.*s/bin/nnfast", (int)(end - file), file) < PATH_MAX &&
            !access(program, X_OK))
            return true;
    }
    while (path && *path) {
        size_t size = strcspn(path, ":");
        if (size && snprintf(program, PATH_MAX, "%.*s/nnfast", (int)size, path) < PATH_MAX && !access(program, X_OK))
            return true;
        path += size + (path[size] != 0);
    }
    return false;
}

/* Starts a driver; *lifeline reads the end of the stream when it has ended. A shell in between leaves it to init, so
 * that it is no child of a program that does not expect one. */
static int start(const char *path, int *lifeline)
{
    static const char *const script =
        "\"$0\" serve --socket \"$1\" --exit-idle " IDLE_SECONDS " </dev/null >/dev/null 2>&1 &";
    char program[PATH_MAX];
    int ends[2];
    if (!find_program(program))
        return ENOENT;
    if (pipe2(ends, O_CLOEXEC))
        return errno;
    char *arguments[] = {"sh", "-c", (char *)(uintptr_t)script, program, (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t shell;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    /* A process group of its own: Ctrl-C at the client's terminal is not for the driver. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&actions, ends[1], LIFELINE);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    posix_spawn_file_actions_addclosefrom_np(&actions, LIFELINE + 1);
#endif
    int error = posix_spawn(&shell, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return error;
    }
    while (waitpid(shell, NULL, 0) < 0 && errno == EINTR)
        ;
    *lifeline = ends[0];
    return 0;
}

static int refused(const char *path, const char *reason)
{
    char text[PATH_MAX + 200];
    int size = snprintf(text, sizeof text, "%s: no driver's process can be reached: %s; start it with nnfast serve",
                        path, reason);
    ndk_log("connect", text, (size_t)size);
    return ANEURALNETWORKS_UNAVAILABLE_DEVICE;
}

int ndk_reach(bool starts, int *fd)
{
    char path[PATH_MAX];
    *fd = -1;
    if (!socket_path(path))
        return refused("NNFAST_SOCKET", "the path is too long");
    int error = dial(path, START_MS, fd), lifeline = -1;
    if (!error)
        return ANEURALNETWORKS_NO_ERROR;
    *fd = -1;
    if (error == ENOMEM || error == EMFILE || error == ENFILE)
        return ANEURALNETWORKS_OUT_OF_MEMORY;
    if (!starts || (error != ENOENT && error != ECONNREFUSED))
        return refused(path, strerror(error));
    error = start(path, &lifeline);
    if (error)
        return refused(path, error == ENOENT ? "there is no program nnfast beside the library or in PATH; name it in "
                                               "NNFAST_DRIVER" : strerror(error));
    int64_t until = now_ms() + START_MS;
    bool has_ended = false;
    do {
        struct pollfd end = {.fd = lifeline, .events = POLLIN};
        /* One that has ended may have left the socket to another that somebody else has started: look once more. */
        has_ended = poll(&end, 1, RETRY_MS) > 0;
        error = dial(path, START_MS, fd);
    } while (error && !has_ended && now_ms() < until);
    close(lifeline);
    if (!error)
        return ANEURALNETWORKS_NO_ERROR;
    *fd = -1;
    return refused(path, has_ended ? "the one that was started has ended" : strerror(error));
}
