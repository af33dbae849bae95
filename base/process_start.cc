#include "base/process_start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

namespace dpledger {

void BeginProcess() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free, which is this one; not for what it is used for.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(descriptor, F_GETFD) < 0) (void)!::open("/dev/null", mode);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace dpledger
