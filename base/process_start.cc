#include "base/process_start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

#include "absl/synchronization/mutex.h"

namespace dpledger {

void BeginProcess() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Gets the lowest number that is free, which is this one. Opened for the other use: what is
    // read or written there fails.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::fcntl(descriptor, F_GETFD) < 0) (void)!::open("/dev/null", mode);
  }
  ::signal(SIGXFSZ, SIG_IGN);
  // It would end the process where it finds one. That is for tests, which leave it on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace dpledger
