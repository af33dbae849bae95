#include "base/process_start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

namespace dpledger {

void BeginProcess() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free, which is this one.
    if (::fcntl(descriptor, F_GETFD) < 0) (void)!::open("/dev/null", O_RDWR);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dpledger
