#include "bench/program.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/process_start.h"

namespace dpledger::bench {

void Die(const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
  std::exit(1);
}

void Check(const absl::Status& status) {
  if (!status.ok()) Die(status.ToString());
}

double Seconds(int argc, char** argv) {
  BeginProcess();
  double seconds = 12;
  for (int i = 1; i < argc; i += 2) {
    if (std::string(argv[i]) != "--seconds" || i + 1 == argc ||
        !absl::SimpleAtod(argv[i + 1], &seconds) || !(seconds > 0)) {
      std::fprintf(stderr, "usage: %s [--seconds S]\n", program_invocation_short_name);
      std::exit(2);
    }
  }
  return seconds;
}

Report::~Report() { std::printf("%s\n}\n", begun_ ? "" : "{"); }

void Report::Add(const std::string& name, double value, const std::string& unit) {
  Print(name, value, unit, "");
}

void Report::Add(const std::string& name, double value, const std::string& unit, double limit) {
  Print(name, value, unit,
        absl::StrFormat(", \"limit\": %.6g, \"ratio\": %.4g", limit, value / limit));
}

void Report::Print(const std::string& name, double value, const std::string& unit,
                   const std::string& beside) {
  absl::PrintF("%s\n  \"%s%s\": {\"value\": %.6g, \"unit\": \"%s\"%s}", begun_ ? "," : "{", prefix_,
               name, value, unit, beside);
  std::fflush(stdout);
  begun_ = true;
}

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ScratchFolder::ScratchFolder()
    : path_((std::filesystem::current_path() / "benchmark_XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) Die("cannot make a folder here");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dpledger::bench
