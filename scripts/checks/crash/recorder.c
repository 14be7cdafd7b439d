// Records what a program does to the files below a folder, and makes chosen calls fail. scripts/checks/crash/main.ts loads it with LD_PRELOAD.
//
// Bun makes some system calls through libc and some directly, so replacing libc functions wouldn't do. Instead, a seccomp filter makes the kernel send SIGSYS
// for each call that changes a file. The handler makes the call itself, with a cookie in an unused argument, which the filter lets through, and appends a
// record to CRASH_LOG. All processes share that log, which is in the order of the calls.
//
// CRASH_FOLDER is the folder. CRASH_SYNC_MS delays each sync, like a slow disk. CRASH_FAULT is `<kind> <n> <errno> <once|on>`: the n-th call of the kind
// (write, sync, name or memory) fails with the error and, with `on`, every later one too. If the file CRASH_LOG.fail exists, the next sync of a SQLite log
// (-wal) fails with EIO, and the file is removed. scripts/checks/crash/log.ts describes the records.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define COOKIE 0x53746f72u

struct record { uint32_t kind, pid; uint64_t inode, offset, begin; uint32_t path, other, data, unused; };

static const char *folder;
static char fail_file[PATH_MAX];
static int log_fd = -1, count_fd = -1, sync_ms;
static char fault_kind[16];
static int fault_number, fault_errno, fault_stays;
static volatile int busy;

static long call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                x4 __asm__("x4") = e, x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "the recorder knows x86-64 and ARM64"
#endif
}

#define REAL(number, a, b, c, d, e) call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), COOKIE)

// A lock for all threads and processes: first among this process's threads, then among the processes that have the log open.
static void lock(void) {
  while (__sync_lock_test_and_set(&busy, 1)) REAL(SYS_sched_yield, 0, 0, 0, 0, 0);
  REAL(SYS_flock, log_fd, LOCK_EX, 0, 0, 0);
}

static void unlock(void) {
  REAL(SYS_flock, log_fd, LOCK_UN, 0, 0, 0);
  __sync_lock_release(&busy);
}

static uint64_t append(uint32_t kind, uint64_t inode, uint64_t offset, uint64_t begin, const char *path, const char *other, const void *data, size_t length) {
  struct record record = {kind, (uint32_t)REAL(SYS_getpid, 0, 0, 0, 0, 0), inode, offset, begin, path ? strlen(path) : 0, other ? strlen(other) : 0, length, 0};
  struct iovec parts[] = {{&record, sizeof record}, {(void *)path, record.path}, {(void *)other, record.other}, {(void *)data, length}};
  long expected = sizeof record + record.path + record.other + length;
  if (REAL(SYS_writev, log_fd, parts, 4, 0, 0) != expected) abort();
  return REAL(SYS_lseek, log_fd, 0, SEEK_END, 0, 0);
}

static int is_below(const char *path) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// Gets a descriptor's path. Returns false if it isn't below the folder.
static int path_of(int fd, char *path) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long length = REAL(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1, 0);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(path);
}

// Makes a name from a call absolute. Returns false if it isn't below the folder.
static int absolute(int at, const char *name, char *path) {
  path[0] = 0;
  if (name[0] != '/') {
    char link[40];
    if (at == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    long length = REAL(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1, 0);
    if (length <= 0) return 0;
    path[length] = '/';
    path[length + 1] = 0;
  }
  if (strlen(path) + strlen(name) >= PATH_MAX) return 0;
  strcat(path, name);
  return is_below(path);
}

// Counts a call of this kind, and returns whether it should fail. Needs the lock.
static int fails(const char *kind, const char *path) {
  if (!fault_number || strcmp(kind, fault_kind) != 0) return 0;
  int64_t count = 0;
  REAL(SYS_pread64, count_fd, &count, sizeof count, 0, 0);
  count++;
  REAL(SYS_pwrite64, count_fd, &count, sizeof count, 0, 0);
  if (fault_stays ? count < fault_number : count != fault_number) return 0;
  append('F', 0, fault_errno, 0, path, kind, 0, 0);
  return 1;
}

static uint64_t inode_of(int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

static long do_write(long number, long *a) {
  char path[PATH_MAX];
  int fd = a[0];
  if (!path_of(fd, path)) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  if (fails("write", path)) {
    unlock();
    return -fault_errno;
  }
  long offset = a[3];
  int has_offset = number == SYS_pwrite64 || number == SYS_pwritev || number == SYS_pwritev2;
  if (!has_offset) {
    long flags = REAL(SYS_fcntl, fd, F_GETFL, 0, 0, 0);
    offset = REAL(SYS_lseek, fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR, 0, 0);
  }
  long written = REAL(number, a[0], a[1], a[2], a[3], a[4]);
  if (written > 0 && (number == SYS_write || number == SYS_pwrite64)) append('W', inode_of(fd), offset, 0, path, 0, (void *)a[1], written);
  else if (written > 0) {
    const struct iovec *parts = (const struct iovec *)a[1];
    long left = written;
    for (int i = 0; i < a[2] && left > 0; i++) {
      long length = (long)parts[i].iov_len < left ? (long)parts[i].iov_len : left;
      append('W', inode_of(fd), offset, 0, path, 0, parts[i].iov_base, length);
      offset += length;
      left -= length;
    }
  }
  unlock();
  return written;
}

static long do_truncate(long number, long *a) {
  char path[PATH_MAX];
  int is_path = number == SYS_truncate;
  if (!(is_path ? absolute(AT_FDCWD, (char *)a[0], path) : path_of(a[0], path))) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  long result = fails("write", path) ? -fault_errno : REAL(number, a[0], a[1], a[2], a[3], a[4]);
  struct stat found;
  if (result == 0 && stat(path, &found) == 0) append('T', is_path ? found.st_ino : inode_of(a[0]), found.st_size, 0, path, 0, 0, 0);
  unlock();
  return result;
}

static long do_sync(long number, long *a) {
  char path[PATH_MAX];
  if (!path_of(a[0], path)) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  uint64_t begin = append('B', inode_of(a[0]), 0, 0, path, 0, 0, 0);
  unlock();
  if (sync_ms) {
    struct timespec pause = {sync_ms / 1000, sync_ms % 1000 * 1000000L};
    REAL(SYS_nanosleep, &pause, 0, 0, 0, 0);
  }
  lock();
  int is_log = strlen(path) > 4 && strcmp(path + strlen(path) - 4, "-wal") == 0;
  int is_lying = is_log && REAL(SYS_unlinkat, AT_FDCWD, fail_file, 0, 0, 0) == 0;
  int is_failing = is_lying || fails("sync", path);
  append(is_failing ? 'E' : 'S', inode_of(a[0]), 0, begin, path, 0, 0, 0);
  unlock();
  // The tests' file system has nothing to lose, so we skip the sync itself.
  if (is_lying) return -EIO;
  return is_failing ? -fault_errno : 0;
}

static long do_open(long number, long *a) {
  char path[PATH_MAX];
  int is_at = number == SYS_openat;
  int flags = is_at ? a[2] : a[1];
  if (!absolute(is_at ? a[0] : AT_FDCWD, (char *)(is_at ? a[1] : a[0]), path)) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  struct stat found;
  int is_new = stat(path, &found) != 0;
  long fd = is_new && fails("name", path) ? -fault_errno : REAL(number, a[0], a[1], a[2], a[3], a[4]);
  if (fd >= 0 && is_new) append('C', inode_of(fd), 0, 0, path, 0, 0, 0);
  else if (fd >= 0 && flags & O_TRUNC) append('T', inode_of(fd), 0, 0, path, 0, 0, 0);
  unlock();
  return fd;
}

static long do_name(long number, long *a, uint32_t kind, int at, const char *name) {
  char path[PATH_MAX];
  if (!absolute(at, name, path)) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  long result = fails("name", path) ? -fault_errno : REAL(number, a[0], a[1], a[2], a[3], a[4]);
  if (result == 0) append(kind, 0, 0, 0, path, 0, 0, 0);
  unlock();
  return result;
}

static long do_pair(long number, long *a, uint32_t kind, int at, const char *name, int at_other, const char *other_name) {
  char path[PATH_MAX], other[PATH_MAX];
  if (!absolute(at, name, path) || !absolute(at_other, other_name, other)) return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  lock();
  long result = fails("name", path) ? -fault_errno : REAL(number, a[0], a[1], a[2], a[3], a[4]);
  if (result == 0) append(kind, 0, 0, 0, path, other, 0, 0);
  unlock();
  return result;
}

// Memory shared through a file, which is the log's index (-shm). This call uses all its arguments, so the cookie goes in the upper half of the descriptor.
static long do_map(long *a) {
  char path[PATH_MAX];
  int is_failing = 0;
  if (path_of(a[4], path)) {
    lock();
    is_failing = fails("memory", path);
    unlock();
  }
  return is_failing ? -fault_errno : call(SYS_mmap, a[0], a[1], a[2], a[3], (long)((uint64_t)COOKIE << 32 | (uint32_t)a[4]), a[5]);
}

// Calls that this library doesn't record. If they're used on a file in the folder, the recording is useless, and the script says so.
static long do_unknown(long number, long *a, int fd) {
  char path[PATH_MAX], name[24];
  if (path_of(fd, path)) {
    snprintf(name, sizeof name, "%ld", number);
    lock();
    append('X', 0, 0, 0, path, name, 0, 0);
    unlock();
  }
  return REAL(number, a[0], a[1], a[2], a[3], a[4]);
}

static long handle(long number, long *a) {
  switch (number) {
  case SYS_write: case SYS_pwrite64: case SYS_writev: case SYS_pwritev: case SYS_pwritev2: return do_write(number, a);
  case SYS_ftruncate: case SYS_truncate: return do_truncate(number, a);
  case SYS_fsync: case SYS_fdatasync: return do_sync(number, a);
  case SYS_openat: return do_open(number, a);
  case SYS_unlinkat: return do_name(number, a, 'U', a[0], (char *)a[1]);
  case SYS_mkdirat: return do_name(number, a, 'M', a[0], (char *)a[1]);
  case SYS_renameat2: return do_pair(number, a, 'R', a[0], (char *)a[1], a[2], (char *)a[3]);
  case SYS_linkat: return do_pair(number, a, 'L', a[0], (char *)a[1], a[2], (char *)a[3]);
#ifdef SYS_open
  case SYS_open: return do_open(number, a);
  case SYS_unlink: case SYS_rmdir: return do_name(number, a, 'U', AT_FDCWD, (char *)a[0]);
  case SYS_mkdir: return do_name(number, a, 'M', AT_FDCWD, (char *)a[0]);
  case SYS_rename: return do_pair(number, a, 'R', AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1]);
  case SYS_link: return do_pair(number, a, 'L', AT_FDCWD, (char *)a[0], AT_FDCWD, (char *)a[1]);
#endif
#ifdef SYS_renameat
  case SYS_renameat: return do_pair(number, a, 'R', a[0], (char *)a[1], a[2], (char *)a[3]);
#endif
  case SYS_mmap: return do_map(a);
  case SYS_fallocate: case SYS_sendfile: return do_unknown(number, a, a[0]);
  default: return REAL(number, a[0], a[1], a[2], a[3], a[4]);
  }
}

static void on_call(int signal, siginfo_t *info, void *context) {
  (void)signal;
  int saved = errno;
  ucontext_t *state = context;
#if defined(__x86_64__)
  greg_t *r = state->uc_mcontext.gregs;
  long a[] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
  r[REG_RAX] = handle(info->si_syscall, a);
#else
  unsigned long long *r = (unsigned long long *)state->uc_mcontext.regs;
  long a[] = {r[0], r[1], r[2], r[3], r[4], r[5]};
  r[0] = handle(info->si_syscall, a);
#endif
  errno = saved;
}

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define ARG(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define UNLESS_BIT(value, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, 0, skipped)
#define TRAP(number) UNLESS(number, 1), RETURN(SECCOMP_RET_TRAP)
// An open only traps if it can create or empty a file, so that a child's dynamic linker can open its libraries before this one is loaded.
#define TRAP_OPEN(number, flags) UNLESS(number, 4), LOAD(ARG(flags)), UNLESS_BIT(O_CREAT | O_TRUNC, 1), RETURN(SECCOMP_RET_TRAP), RETURN(SECCOMP_RET_ALLOW)

static void install_filter(void) {
  struct sock_filter filter[] = {
    LOAD(ARG(5)), UNLESS(COOKIE, 1), RETURN(SECCOMP_RET_ALLOW),
    LOAD(offsetof(struct seccomp_data, nr)),
    UNLESS(SYS_mmap, 9), LOAD(ARG(4) + 4), UNLESS(COOKIE, 1), RETURN(SECCOMP_RET_ALLOW),
    LOAD(ARG(3)), UNLESS_BIT(MAP_ANONYMOUS, 1), RETURN(SECCOMP_RET_ALLOW),
    UNLESS_BIT(MAP_SHARED, 1), RETURN(SECCOMP_RET_TRAP), RETURN(SECCOMP_RET_ALLOW),
    TRAP(SYS_write), TRAP(SYS_pwrite64), TRAP(SYS_writev), TRAP(SYS_pwritev), TRAP(SYS_pwritev2), TRAP(SYS_ftruncate), TRAP(SYS_truncate),
    TRAP(SYS_fsync), TRAP(SYS_fdatasync), TRAP(SYS_unlinkat), TRAP(SYS_mkdirat), TRAP(SYS_renameat2), TRAP(SYS_linkat), TRAP(SYS_fallocate),
    TRAP(SYS_sendfile),
#ifdef SYS_open
    TRAP(SYS_unlink), TRAP(SYS_rmdir), TRAP(SYS_mkdir), TRAP(SYS_rename), TRAP(SYS_link), TRAP_OPEN(SYS_open, 1),
#endif
#ifdef SYS_renameat
    TRAP(SYS_renameat),
#endif
    TRAP_OPEN(SYS_openat, 2),
    RETURN(SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    perror("crash recorder: seccomp");
    _exit(70);
  }
}

typedef int set_action(int, const struct sigaction *, struct sigaction *);

// Bun has its own SIGSYS handler, which we keep from being installed.
int sigaction(int signal, const struct sigaction *action, struct sigaction *before) {
  if (signal == SIGSYS && action && log_fd >= 0) return 0;
  return ((set_action *)dlsym(RTLD_NEXT, "sigaction"))(signal, action, before);
}

__attribute__((constructor)) static void start(void) {
  folder = getenv("CRASH_FOLDER");
  const char *log = getenv("CRASH_LOG"), *fault = getenv("CRASH_FAULT"), *pause = getenv("CRASH_SYNC_MS");
  if (!folder || !log) return;
  char count[PATH_MAX], when[8] = "";
  snprintf(count, sizeof count, "%s.count", log);
  snprintf(fail_file, sizeof fail_file, "%s.fail", log);
  // High numbers, so that the program's descriptors stay as they'd be.
  log_fd = fcntl(REAL(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0), F_DUPFD_CLOEXEC, 900);
  count_fd = fcntl(REAL(SYS_openat, AT_FDCWD, count, O_RDWR | O_CREAT | O_CLOEXEC, 0600, 0), F_DUPFD_CLOEXEC, 900);
  sync_ms = pause ? atoi(pause) : 0;
  if (fault && sscanf(fault, "%15s %d %d %7s", fault_kind, &fault_number, &fault_errno, when) == 4) fault_stays = strcmp(when, "on") == 0;
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
  ((set_action *)dlsym(RTLD_NEXT, "sigaction"))(SIGSYS, &action, 0);
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2) install_filter();
}
