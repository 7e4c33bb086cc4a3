/* Preloaded into a process: kills it at its n-th write, or lets that write fail.

   What counts are writes to regular files and changes of folders; pipes and sockets do not. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { KILLED = 1, TORN = 2, FULL = 3, FAILED = 4 };

static atomic_long seen;
static long wanted;
static int mode;
static int armed;

void faults_arm(long nth, int how) {
    seen = 0;
    wanted = nth;
    mode = how;
    armed = 1;
}

long faults_seen(void) {
    armed = 0;
    return seen;
}

static int is_regular(int fd) {
    struct stat about;
    int before = errno;
    int is = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    errno = before;
    return is;
}

/* Whether this write is the one; a disk that is full stays so. */
static int is_due(void) {
    long now = atomic_fetch_add(&seen, 1) + 1;
    return wanted > 0 && (now == wanted || (mode == FULL && now > wanted));
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define REAL(type, name, ...)                                              \
    static type (*real)(__VA_ARGS__);                                      \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define FAIL()                                                             \
    do {                                                                   \
        errno = mode == FULL ? ENOSPC : EIO;                               \
        return -1;                                                         \
    } while (0)

ssize_t write(int fd, const void *from, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (armed && is_regular(fd) && is_due()) {
        if (mode == TORN && real(fd, from, size / 2) >= 0) die();
        if (mode == KILLED) die();
        FAIL();
    }
    return real(fd, from, size);
}

#define PWRITE(name)                                                       \
    ssize_t name(int fd, const void *from, size_t size, off_t where) {     \
        REAL(ssize_t, #name, int, const void *, size_t, off_t);            \
        if (armed && is_regular(fd) && is_due()) {                         \
            if (mode == TORN && real(fd, from, size / 2, where) >= 0) die(); \
            if (mode == KILLED) die();                                     \
            FAIL();                                                        \
        }                                                                  \
        return real(fd, from, size, where);                                \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define ON_FILE(name, arguments, types, call, condition)                   \
    int name arguments {                                                   \
        REAL(int, #name, types);                                           \
        if (armed && (condition) && is_due()) {                            \
            if (mode == KILLED || mode == TORN) die();                     \
            if (mode == FAILED) FAIL();                                    \
        }                                                                  \
        return real call;                                                  \
    }
#define TYPES(...) __VA_ARGS__
ON_FILE(fsync, (int fd), int, (fd), is_regular(fd))
ON_FILE(fdatasync, (int fd), int, (fd), is_regular(fd))
ON_FILE(ftruncate, (int fd, off_t size), TYPES(int, off_t), (fd, size), is_regular(fd))
ON_FILE(ftruncate64, (int fd, off_t size), TYPES(int, off_t), (fd, size), is_regular(fd))

/* A process can be killed before a change of a folder; such a change does not fail by itself. */
#define ON_FOLDER(name, arguments, types, call)                            \
    int name arguments {                                                   \
        REAL(int, #name, types);                                           \
        if (armed && is_due() && (mode == KILLED || mode == TORN)) die();  \
        return real call;                                                  \
    }
ON_FOLDER(rename, (const char *from, const char *to), TYPES(const char *, const char *), (from, to))
ON_FOLDER(link, (const char *from, const char *to), TYPES(const char *, const char *), (from, to))
ON_FOLDER(symlink, (const char *from, const char *to), TYPES(const char *, const char *), (from, to))
ON_FOLDER(unlink, (const char *path), const char *, (path))
ON_FOLDER(remove, (const char *path), const char *, (path))
ON_FOLDER(rmdir, (const char *path), const char *, (path))
ON_FOLDER(mkdir, (const char *path, mode_t how), TYPES(const char *, mode_t), (path, how))
