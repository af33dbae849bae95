// Children of a process whose other threads were in the library: they can ask too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/accounting/library_call.h"

namespace dpledger::accounting {
namespace {

// Each noise has an FFT of another size, which is planned once a process.
bool Ask(int step) {
  return AskLibrary(
             1, "ComputeEpsilon",
             R"({"delta": 1e-5, "options": {"method": "PLD", "relativeGap": 1e-3}, "subject": {"events": [
                       {"rounds": {"count": 10, "scheme": {"poisson": {"probability": 0.1}}, "queries": [
                        {"l2NormBound": 1, "noiseStddev": )" +
                 std::to_string(0.5 + 0.5 * step) + "}]}}]}}")
             .code == 0;
}

// Forks while another thread asks its first questions. Whether every child answered.
bool ChildrenAnswer() {
  std::atomic<bool> asking = false;
  std::thread other([&] {
    asking = true;
    for (int step = 0; step < 12; ++step) Ask(step);
  });
  while (!asking) {
  }
  std::vector<pid_t> children;
  for (int i = 0; i < 24; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // ends a child that waits for ever
      _exit(Ask(i % 12) ? 0 : 1);
    }
    children.push_back(child);
  }
  bool all = true;
  for (const pid_t child : children) {
    int status = 0;
    all &= waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  other.join();
  return all;
}

// A process can make its first call only once.
TEST(Fork, LeavesTheLibraryUsableInTheChild) {
  for (int process = 0; process < 20; ++process) {
    const pid_t parent = fork();
    if (parent == 0) _exit(ChildrenAnswer() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(parent, &status, 0), parent);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "process " << process;
  }
}

}  // namespace
}  // namespace dpledger::accounting
