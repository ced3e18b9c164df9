/* Preloaded into a process, this writes down what it does to the files below $DISK_ROOT, in order,
   to the file $DISK_LOG: what a disk would see. `tests/disk.py` reads it.

   A record is: kind (1 byte), length of the path, of the second path or data, offset (8 bytes each,
   little endian), the path, the second path or data. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(int log, const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t done = syscall(SYS_write, log, at, length);
        if (done <= 0)
            abort(); /* a log with a hole would prove nothing */
        at += done;
        length -= done;
    }
}

static void record(char kind, const char *path, const void *data, uint64_t length, uint64_t offset)
{
    static int log = -1;
    if (log < 0)
        log = syscall(SYS_openat, AT_FDCWD, getenv("DISK_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    uint64_t numbers[3] = {strlen(path), length, offset};
    put(log, &kind, 1);
    put(log, numbers, sizeof numbers);
    put(log, path, numbers[0]);
    put(log, data, length);
}

static int is_watched(const char *path)
{
    const char *root = getenv("DISK_ROOT");
    return root && strncmp(path, root, strlen(root)) == 0;
}

/* The path of an open file; 0 where it is none of those that are watched. */
static int watched_file(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = 0;
    return is_watched(path) && !strstr(path, " (deleted)");
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    ssize_t done = REAL(pwrite64)(fd, data, length, offset);
    if (done > 0 && watched_file(fd, path))
        record('w', path, data, done, offset);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
    return pwrite64(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(write)(fd, data, length);
    if (done > 0 && offset >= 0 && watched_file(fd, path))
        record('w', path, data, done, offset);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate64(int fd, off64_t length)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    int result = REAL(ftruncate64)(fd, length);
    if (result == 0 && watched_file(fd, path))
        record('t', path, "", 0, length);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t length)
{
    return ftruncate64(fd, length);
}

static int synced(int fd, int result)
{
    char path[PATH_MAX];
    if (result == 0 && watched_file(fd, path))
        record('s', path, "", 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int fd)
{
    pthread_mutex_lock(&lock);
    return synced(fd, REAL(fsync)(fd));
}

int fdatasync(int fd)
{
    pthread_mutex_lock(&lock);
    return synced(fd, REAL(fdatasync)(fd));
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0 && is_watched(from))
        record('r', from, to, strlen(to), 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int link(const char *from, const char *to)
{
    pthread_mutex_lock(&lock);
    int result = REAL(link)(from, to);
    if (result == 0 && is_watched(from))
        record('l', from, to, strlen(to), 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path)
{
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(path);
    if (result == 0 && is_watched(path))
        record('u', path, "", 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
