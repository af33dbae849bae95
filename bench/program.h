// What the benchmark programs share: how they end, their one flag, and a folder that goes with
// them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace dpledger::bench {

// "<program>: <message>" on stderr, exit code 1.
[[noreturn]] void Die(const std::string& message);
void Check(const absl::Status& status);

// About how long all measurements together may last: [--seconds S], else 12. Exit code 2 for
// anything else on the command line.
double Seconds(int argc, char** argv);

// A new folder in the current one, on whose disk the measurement is; removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dpledger::bench
