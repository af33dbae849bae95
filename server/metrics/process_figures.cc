#include "server/metrics/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace dpledger::server {
namespace {

// Places in /proc/self/stat behind the program's name (proc(5) counts from 1, and the name is 2).
enum StatField : size_t { kUserTicks = 11, kSystemTicks = 12, kVirtualBytes = 20, kPages = 21 };

double StatOf(StatField field) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The name is in parentheses, and may have blanks and parentheses of its own.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields =
      absl::StrSplit(text.substr(name_end + 1), ' ', absl::SkipEmpty());
  double value = 0;
  return field < fields.size() && absl::SimpleAtod(fields[field], &value) ? value : 0;
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(all), end(all)));
}

double MostDescriptors() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

}  // namespace

void PullProcess(Metrics& metrics) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const double start = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  metrics.Pull("process_cpu_seconds_total", "Processor time that the process has used.",
               PulledKind::kCounter,
               [ticks] { return (StatOf(kUserTicks) + StatOf(kSystemTicks)) / ticks; });
  metrics.Pull("process_resident_memory_bytes", "Memory that the process has in RAM.",
               PulledKind::kGauge, [page] { return StatOf(kPages) * page; });
  metrics.Pull("process_virtual_memory_bytes", "Address space of the process.", PulledKind::kGauge,
               [] { return StatOf(kVirtualBytes); });
  metrics.Pull("process_open_fds", "Descriptors that the process has open.", PulledKind::kGauge,
               OpenDescriptors);
  metrics.Pull("process_max_fds", "Descriptors that the process may open.", PulledKind::kGauge,
               MostDescriptors);
  metrics.Pull("process_start_time_seconds", "When the process started, in Unix time.",
               PulledKind::kGauge, [start] { return start; });
}

}  // namespace dpledger::server
