#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "cli/exit_code.h"

namespace dpledger::cli {
namespace {

// Read by the signal handler, so only swapped whole. Notes live as long as the program.
std::atomic<const char*> interrupt_note{"interrupted; nothing was changed\n"};

std::atomic<const char*> unfinished_file{nullptr};

void OnInterrupt(int /*signal*/) {
  if (const char* path = unfinished_file.load(); path != nullptr) unlink(path);
  const char* note = interrupt_note.load();
  // Async-signal-safe calls only; nothing is left to do if stderr is gone.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, note, strlen(note));
  _exit(kExitInterrupted);
}

}  // namespace

void EndOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void SetInterruptNote(std::string note) {
  // Never freed: the handler may be reading the one before.
  interrupt_note.store((new std::string(std::move(note) + "\n"))->c_str());
}

void RemoveOnInterrupt(std::string path) {
  // Never freed, as above.
  unfinished_file.store(path.empty() ? nullptr : (new std::string(std::move(path)))->c_str());
}

}  // namespace dpledger::cli
