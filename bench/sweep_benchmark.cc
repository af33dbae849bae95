// How the accountant does over the whole range of settings, not only at the typical ones: ε with a
// wanted gap of 1e-3 at random settings (tests/support/random_setting.h), both directions in one
// answer.
//
//   sweep_benchmark [--seconds S] [--count N] [--first I] [--settings FILE] [--table FILE]
//
// Ends after S seconds or N settings, whichever comes first. Prints the figures as one JSON object,
// {"sweep/share_within_gap_1e3": {"value": ..., "unit": ...}, ...}; --settings writes a JSON line a
// setting and --table the classes by decades of sampling probability and steps. Time is processor
// time; memory is the growth of the resident set over the start of the question.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "accountant/accountant.h"
#include "bench/program.h"
#include "tests/support/random_setting.h"

namespace dpledger::accountant {
namespace {

using testing::RandomSetting;

constexpr double kGap = 1e-3;
constexpr double kMostSeconds = 2, kMostMebibytes = 512;
// Past this a question is stopped: its time is reported as it is.
constexpr absl::Duration kDeadline = absl::Seconds(10);

double ProcessorSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A line of /proc/self/status in MiB, 0 where there is none.
double StatusMebibytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes;
    if (word == key + ":" && status >> kibibytes) return kibibytes / 1024;
  }
  return 0;
}

struct Outcome {
  RandomSetting setting;
  std::string method;  // the error's code where there is no answer
  Interval epsilon;
  bool answered = false;
  double seconds = 0, mebibytes = 0;

  bool WithinGap() const { return answered && epsilon.RelativeGap() <= kGap; }
};

Outcome Ask(const RandomSetting& setting) {
  Composition composition;
  composition.steps.push_back({setting.sampling_probability,
                               {setting.noise_multiplier, setting.noise_multiplier},
                               setting.steps});
  Options options;
  options.relative_gap = kGap;
  options.limits.deadline = absl::Now() + kDeadline;
  Outcome outcome{setting};
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak of the resident set starts anew
  const double before = StatusMebibytes("VmRSS"), start = ProcessorSeconds();
  const absl::StatusOr<Answer> answer = ComputeEpsilon(composition, setting.delta, options);
  outcome.seconds = ProcessorSeconds() - start;
  outcome.mebibytes = StatusMebibytes("VmHWM") - before;
  outcome.answered = answer.ok();
  outcome.method = answer.ok() ? MethodName(answer->method)
                               : std::string(absl::StatusCodeToString(answer.status().code()));
  if (answer.ok()) outcome.epsilon = answer->value;
  return outcome;
}

std::string JsonNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.17g", value) : "\"Infinity\"";
}

std::string JsonLine(uint64_t index, const Outcome& o) {
  return absl::StrFormat(
      R"({"index":%d,"q":%.17g,"noise_multiplier":%.17g,"steps":%d,"delta":%.17g,"method":"%s",)"
      R"("lower":%s,"upper":%s,"within_gap":%s,"seconds":%.3g,"mebibytes":%.1f})",
      index, o.setting.sampling_probability, o.setting.noise_multiplier, o.setting.steps,
      o.setting.delta, o.method, JsonNumber(o.epsilon.lower()), JsonNumber(o.epsilon.upper()),
      o.WithinGap() ? "true" : "false", o.seconds, o.mebibytes);
}

double Quantile(std::vector<double> values, double share) {
  const size_t at = std::min(values.size() - 1, static_cast<size_t>(share * values.size()));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[at];
}

template <typename Predicate>
double Share(const std::vector<Outcome>& outcomes, Predicate predicate) {
  return static_cast<double>(std::count_if(outcomes.begin(), outcomes.end(), predicate)) /
         static_cast<double>(outcomes.size());
}

void PrintFigures(const std::vector<Outcome>& outcomes) {
  std::vector<double> seconds, mebibytes;
  for (const Outcome& o : outcomes) {
    seconds.push_back(o.seconds);
    mebibytes.push_back(o.mebibytes);
  }
  std::string separator = "{";
  const auto print = [&](const char* name, double value, const char* unit) {
    std::printf("%s\"sweep/%s\": {\"value\": %.6g, \"unit\": \"%s\"}", separator.c_str(), name,
                value, unit);
    separator = ",\n ";
  };
  print("settings", static_cast<double>(outcomes.size()), "settings");
  print("share_answered", Share(outcomes, [](const Outcome& o) { return o.answered; }), "share");
  print("share_within_gap_1e3", Share(outcomes, [](const Outcome& o) { return o.WithinGap(); }),
        "share");
  print("share_over_2_seconds",
        Share(outcomes, [](const Outcome& o) { return o.seconds > kMostSeconds; }), "share");
  print("share_over_512_mebibytes",
        Share(outcomes, [](const Outcome& o) { return o.mebibytes > kMostMebibytes; }), "share");
  print("median_us", 1e6 * Quantile(seconds, 0.5), "us");
  print("p90_us", 1e6 * Quantile(seconds, 0.9), "us");
  print("p99_us", 1e6 * Quantile(seconds, 0.99), "us");
  print("worst_us", 1e6 * Quantile(seconds, 1), "us");
  print("worst_mebibytes", Quantile(mebibytes, 1), "MiB");
  std::printf("}\n");
}

int Decade(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

void WriteTable(const std::vector<Outcome>& outcomes, std::ostream& out) {
  std::map<std::pair<int, int>, std::vector<Outcome>> classes;
  for (const Outcome& o : outcomes) {
    classes[{Decade(o.setting.sampling_probability), Decade(static_cast<double>(o.setting.steps))}]
        .push_back(o);
  }
  const char* separator = "[";
  for (const auto& [key, members] : classes) {
    std::map<std::string, int> methods;
    std::vector<double> seconds, gaps;
    for (const Outcome& o : members) {
      ++methods[o.method];
      seconds.push_back(o.seconds);
      gaps.push_back(o.answered ? o.epsilon.RelativeGap() : 1);
    }
    const auto count = [&](auto predicate) {
      return std::count_if(members.begin(), members.end(), predicate);
    };
    out << absl::StrFormat(
        "%s{\"log10_q\":%d,\"log10_steps\":%d,\"settings\":%d,\"over_gap\":%d,\"over_2_s\":%d,"
        "\"p90_gap\":%.2g,\"worst_gap\":%.2g,\"median_us\":%.0f,\"worst_us\":%.0f,\"methods\":{",
        separator, key.first, key.second, members.size(),
        count([](const Outcome& o) { return !o.WithinGap(); }),
        count([](const Outcome& o) { return o.seconds > kMostSeconds; }), Quantile(gaps, 0.9),
        Quantile(gaps, 1), 1e6 * Quantile(seconds, 0.5), 1e6 * Quantile(seconds, 1));
    const char* comma = "";
    for (const auto& [method, times] : methods) {
      out << comma << "\"" << method << "\":" << times;
      comma = ",";
    }
    out << "}}";
    separator = ",\n ";
  }
  out << "]\n";
}

struct Arguments {
  double seconds = 12;
  uint64_t count = ~uint64_t{0}, first = 0;
  std::string settings, table;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  bool good = argc % 2 == 1, timed = false, counted = false;
  for (int i = 1; good && i < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--seconds") {
      good = absl::SimpleAtod(value, &arguments.seconds) && arguments.seconds > 0;
      timed = true;
    } else if (flag == "--count") {
      good = absl::SimpleAtoi(value, &arguments.count) && arguments.count > 0;
      counted = true;
    } else if (flag == "--first") {
      good = absl::SimpleAtoi(value, &arguments.first);
    } else if (flag == "--settings") {
      arguments.settings = value;
    } else if (flag == "--table") {
      arguments.table = value;
    } else {
      good = false;
    }
  }
  if (!good) {
    std::fprintf(stderr,
                 "usage: %s [--seconds S] [--count N] [--first I] [--settings FILE] "
                 "[--table FILE]\n",
                 argv[0]);
    std::exit(2);
  }
  if (counted && !timed) arguments.seconds = INFINITY;
  return arguments;
}

int Main(const Arguments& arguments) {
  std::ofstream lines;
  if (!arguments.settings.empty()) lines.open(arguments.settings);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Outcome> outcomes;
  for (uint64_t i = 0; i < arguments.count; ++i) {
    const uint64_t index = arguments.first + i;
    outcomes.push_back(Ask(testing::RandomSettingAt(index)));
    if (lines.is_open()) lines << JsonLine(index, outcomes.back()) << std::endl;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
        arguments.seconds) {
      break;
    }
  }
  PrintFigures(outcomes);
  if (!arguments.table.empty()) {
    std::ofstream table(arguments.table);
    WriteTable(outcomes, table);
    if (!table) bench::Die(absl::StrCat("cannot write ", arguments.table));
  }
  if (!arguments.settings.empty() && !lines)
    bench::Die(absl::StrCat("cannot write ", arguments.settings));
  return 0;
}

}  // namespace
}  // namespace dpledger::accountant

int main(int argc, char** argv) {
  return dpledger::accountant::Main(dpledger::accountant::Parse(argc, argv));
}
