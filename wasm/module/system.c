// The system that a module in a browser is not given: no files, no sockets, no time zones, no stack
// to walk. Libraries bring along what refers to these, and no question comes to it.
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

int __syscall_poll(int fds, int count, int timeout) { return -ENOSYS; }
int __syscall_stat64(int path, int stat) { return -ENOSYS; }
int __syscall_lstat64(int path, int stat) { return -ENOSYS; }
int __syscall_fstat64(int file, int stat) { return -ENOSYS; }
int __syscall_fstatat64(int folder, int path, int stat, int flags) { return -ENOSYS; }
ssize_t send(int socket, const void* bytes, size_t size, int flags) { return -1; }

void _tzset_js(long* west, int* summer, char** names) {}
int _mktime_js(struct tm* fields) { return -1; }
void _localtime_js(const time_t* at, struct tm* fields) { memset(fields, 0, sizeof *fields); }
void _gmtime_js(const time_t* at, struct tm* fields) { memset(fields, 0, sizeof *fields); }

unsigned emscripten_stack_snapshot(void) { return 0; }
unsigned emscripten_stack_unwind_buffer(unsigned pc, void* into, unsigned depth) { return 0; }
int emscripten_asm_const_int(const char* code, const char* types, ...) { return 0; }
void emscripten_notify_memory_growth(size_t memory) {}

// What libc's memcpy does with more than 512 bytes. emscripten's own for modules without its
// JavaScript traps.
void* __wrap_emscripten_memcpy_big(void* to, const void* from, size_t size) {
  typedef uint64_t __attribute__((aligned(1), may_alias)) Word;
  size_t at = 0;
  for (; at + sizeof(Word) <= size; at += sizeof(Word)) {
    *(Word*)((char*)to + at) = *(const Word*)((const char*)from + at);
  }
  for (; at < size; ++at) ((char*)to)[at] = ((const char*)from)[at];
  return to;
}
