// For self-contained libraries: what their parts ask of a glibc newer than 2.35, so that they load beside that one too.
// libstdc++'s std::random_device, which gRPC's RLS policy holds, calls arc4random (glibc 2.36). Nothing of ours does.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// From the kernel; ends the process if that has none, as glibc's does.
uint32_t arc4random(void) {
  uint32_t word;
  if (getrandom(&word, sizeof word, 0) != sizeof word) abort();
  return word;
}
