// What the benchmark programs share: how they end, their one flag, what they print, and a folder
// that goes with them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger::bench {

// "<program>: <message>" on stderr, exit code 1.
[[noreturn]] void Die(const std::string& message);
void Check(const absl::Status& status);
template <typename T>
T Must(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

// About how long all measurements together may last: [--seconds S], else 12. Exit code 2 for
// anything else on the command line. Begins the process as our programs do, so that what is
// measured is what they run.
double Seconds(int argc, char** argv);

// The program's figures as one JSON object on stdout (bench/run), which ends with this.
class Report {
 public:
  // The figures' names begin with `prefix`.
  explicit Report(std::string prefix = "") : prefix_(std::move(prefix)) {}
  ~Report();
  Report(const Report&) = delete;

  void Add(const std::string& name, double value, const std::string& unit);
  // `limit`: what the machine or a bare loop reached in the same run.
  void Add(const std::string& name, double value, const std::string& unit, double limit);

 private:
  void Print(const std::string& name, double value, const std::string& unit,
             const std::string& beside);

  const std::string prefix_;
  bool begun_ = false;
};

double SecondsOf(const std::function<void()>& work);

// Of at least one value; the upper one of two in the middle.
double Median(std::vector<double> values);

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
