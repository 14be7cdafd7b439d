// Simulates a disk with an fsync that fails once, and then reports success without writing. For scripts/check-fsync.ts, loaded with LD_PRELOAD.
//
// For each file of the database FSYNC_DATABASE, a copy (.disk) contains the bytes that a power loss would leave. Each write is recorded (.dirty), and
// reaches the copy with the next fsync. If the file .fail exists, an fsync of the log fails once with EIO. After that, like the Linux kernel, the
// library treats the written pages as clean: they reach the disk only if they are written again.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct range { long long offset, length; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_database(int fd, char *path, size_t size) {
  const char *database = getenv("FSYNC_DATABASE");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = database ? readlink(link, path, size - 16) : -1;
  if (length < 0) return 0;
  path[length] = 0;
  size_t prefix = strlen(database);
  if (strncmp(path, database, prefix) != 0) return 0;
  return strcmp(path + prefix, "") == 0 || strcmp(path + prefix, "-wal") == 0;
}

static int beside(const char *path, const char *suffix, int flags) {
  char name[4096];
  snprintf(name, sizeof name, "%s%s", path, suffix);
  return open(name, flags | O_CLOEXEC, 0600);
}

static ssize_t real_pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  return real(fd, bytes, length, offset);
}

static ssize_t noting_pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  char path[4096];
  ssize_t written = real_pwrite(fd, bytes, length, offset);
  if (written <= 0 || !is_database(fd, path, sizeof path)) return written;
  struct range range = {offset, written};
  pthread_mutex_lock(&lock);
  int dirty = beside(path, ".dirty", O_WRONLY | O_CREAT | O_APPEND);
  if (write(dirty, &range, sizeof range) != sizeof range) abort();
  close(dirty);
  pthread_mutex_unlock(&lock);
  return written;
}

static void flush(int fd, const char *path) {
  int dirty = beside(path, ".dirty", O_RDONLY);
  int disk = beside(path, ".disk", O_WRONLY | O_CREAT);
  struct range range;
  while (dirty >= 0 && read(dirty, &range, sizeof range) == sizeof range) {
    char *bytes = malloc(range.length);
    ssize_t length = pread(fd, bytes, range.length, range.offset);
    if (length > 0 && real_pwrite(disk, bytes, length, range.offset) != length) abort();
    free(bytes);
  }
  if (dirty >= 0) close(dirty);
  close(disk);
}

static int lying_sync(int fd, const char *name) {
  char path[4096], fail[4200], dirty[4200];
  if (!is_database(fd, path, sizeof path)) return ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
  snprintf(fail, sizeof fail, "%s.fail", getenv("FSYNC_DATABASE"));
  snprintf(dirty, sizeof dirty, "%s.dirty", path);
  pthread_mutex_lock(&lock);
  int is_failing = strlen(path) > strlen(getenv("FSYNC_DATABASE")) && unlink(fail) == 0;
  if (!is_failing) flush(fd, path);
  unlink(dirty);
  pthread_mutex_unlock(&lock);
  if (is_failing) errno = EIO;
  return is_failing ? -1 : 0;
}

static int copying_truncate(int fd, off_t length, const char *name) {
  char path[4096];
  int result = ((int (*)(int, off_t))dlsym(RTLD_NEXT, name))(fd, length);
  if (result != 0 || !is_database(fd, path, sizeof path)) return result;
  int disk = beside(path, ".disk", O_WRONLY | O_CREAT);
  result = ((int (*)(int, off_t))dlsym(RTLD_NEXT, name))(disk, length);
  close(disk);
  return result;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return noting_pwrite(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return noting_pwrite(fd, bytes, length, offset); }
int fsync(int fd) { return lying_sync(fd, "fsync"); }
int fdatasync(int fd) { return lying_sync(fd, "fdatasync"); }
int ftruncate(int fd, off_t length) { return copying_truncate(fd, length, "ftruncate"); }
int ftruncate64(int fd, off_t length) { return copying_truncate(fd, length, "ftruncate64"); }
