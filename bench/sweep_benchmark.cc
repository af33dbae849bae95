// How the accountant does over the whole range of what it may be asked, not only where it is
// typical:
//   settings      ε of DP-SGD at random settings (tests/support/random_setting.h), wanted gap 1e-3
//   box           the same over all that may be asked, up to where it means nothing any more
//   compositions  ε of one to five random events of different kinds
//                 (tests/support/random_composition.h), wanted gap 1e-4
//   calibrations  the unknown of a random setting in even questions, in odd ones the factor on a
//                 random composition's noise; wanted gap 1e-4
//
//   sweep_benchmark [--over settings|box|compositions|calibrations] [--seconds S] [--count N]
//                   [--first I] [--only KIND] [--lines FILE]
//
// Ends after S seconds or N questions, whichever comes first. Prints the figures as one JSON
// object, {"sweep/share_within_gap": {"value": ..., "unit": ...}, ...}; --lines writes a JSON line
// a question. --only: compositions of events of one kind. Time is processor time;
// memory is the growth of the resident set over the start of the question.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "accountant/accountant.h"
#include "bench/program.h"
#include "bench/sweep_questions.h"
#include "flags/app.h"
#include "tests/support/random_composition.h"

namespace dpledger::accountant {
namespace {

// Past this a question is stopped: its time is reported as it is.
constexpr absl::Duration kDeadline = absl::Seconds(10);
constexpr double kMostMebibytes = 512;

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
  std::string what, method;  // the error's code where there is no answer
  Interval epsilon;
  bool answered = false, within_gap = false;
  double seconds = 0, mebibytes = 0;
};

Outcome Measure(const Subject& subject, uint64_t index, const std::string& only) {
  const SweepQuestion question = subject.question(index, only);
  Options options;
  options.relative_gap = subject.gap;
  options.limits.deadline = absl::Now() + kDeadline;
  Outcome outcome;
  outcome.what = question.what;
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak of the resident set starts anew
  const double before = StatusMebibytes("VmRSS"), start = ProcessorSeconds();
  const absl::StatusOr<Answer> answer = question.ask(options);
  outcome.seconds = ProcessorSeconds() - start;
  outcome.mebibytes = StatusMebibytes("VmHWM") - before;
  outcome.answered = answer.ok();
  outcome.method = answer.ok() ? MethodName(answer->method)
                               : std::string(absl::StatusCodeToString(answer.status().code()));
  if (answer.ok()) {
    outcome.epsilon = answer->value;
    outcome.within_gap = answer->value.RelativeGap() <= subject.gap;
  }
  return outcome;
}

std::string JsonNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.17g", value) : "\"Infinity\"";
}

std::string JsonLine(uint64_t index, const Outcome& o) {
  return absl::StrFormat(
      R"({"index":%d,%s,"method":"%s",)"
      R"("lower":%s,"upper":%s,"within_gap":%s,"seconds":%.3g,"mebibytes":%.1f})",
      index, o.what, o.method, JsonNumber(o.epsilon.lower()), JsonNumber(o.epsilon.upper()),
      o.within_gap ? "true" : "false", o.seconds, o.mebibytes);
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

void PrintFigures(const Subject& subject, const std::vector<Outcome>& outcomes) {
  std::vector<double> seconds, mebibytes;
  for (const Outcome& o : outcomes) {
    seconds.push_back(o.seconds);
    mebibytes.push_back(o.mebibytes);
  }
  bench::Report report("sweep/");
  report.Add("questions", static_cast<double>(outcomes.size()), "questions");
  report.Add("share_answered", Share(outcomes, [](const Outcome& o) { return o.answered; }),
             "share");
  report.Add("share_within_gap", Share(outcomes, [](const Outcome& o) { return o.within_gap; }),
             "share");
  report.Add("share_without_lower_end",
             Share(outcomes,
                   [](const Outcome& o) {
                     return o.answered && o.epsilon.lower() == 0 && o.epsilon.upper() > 0;
                   }),
             "share");
  report.Add("share_over_time",
             Share(outcomes, [&](const Outcome& o) { return o.seconds > subject.most_seconds; }),
             "share");
  report.Add("share_over_512_mebibytes",
             Share(outcomes, [](const Outcome& o) { return o.mebibytes > kMostMebibytes; }),
             "share");
  report.Add("median_us", 1e6 * Quantile(seconds, 0.5), "us");
  report.Add("p90_us", 1e6 * Quantile(seconds, 0.9), "us");
  report.Add("p99_us", 1e6 * Quantile(seconds, 0.99), "us");
  report.Add("worst_us", 1e6 * Quantile(seconds, 1), "us");
  report.Add("worst_mebibytes", Quantile(mebibytes, 1), "MiB");
}

struct Arguments {
  const Subject* subject = nullptr;
  double seconds = 12;
  uint64_t count = ~uint64_t{0}, first = 0;
  std::string only, lines;
};

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  std::string over = "settings";
  flags::App app("Asks the accountant random questions.", "sweep_benchmark");
  app.add_option("--over", over)
      ->check(flags::IsMember({"settings", "box", "compositions", "calibrations"}));
  const flags::Option* seconds = app.add_option("--seconds", arguments.seconds);
  const flags::Option* count =
      app.add_option("--count", arguments.count)->check(flags::Range(1.0, 1e18));
  app.add_option("--first", arguments.first);
  app.add_option("--only", arguments.only);
  app.add_option("--lines", arguments.lines);
  try {
    app.parse(argc, argv);
  } catch (const flags::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  arguments.subject = SubjectNamed(over);
  if (!arguments.only.empty()) {
    if (over == "settings" || over == "box")
      bench::Die("--only: settings are of one kind; ask --over compositions or calibrations");
    if (!testing::IsKind(arguments.only))
      bench::Die(absl::StrCat("--only ", arguments.only, ": no kind of event of that name"));
  }
  if (count->count() > 0 && seconds->count() == 0) arguments.seconds = INFINITY;
  return arguments;
}

int Main(const Arguments& arguments) {
  std::ofstream lines;
  if (!arguments.lines.empty()) lines.open(arguments.lines);
  const absl::Time start = absl::Now();
  std::vector<Outcome> outcomes;
  for (uint64_t i = 0; i < arguments.count; ++i) {
    const uint64_t index = arguments.first + i;
    outcomes.push_back(Measure(*arguments.subject, index, arguments.only));
    if (lines.is_open()) lines << JsonLine(index, outcomes.back()) << std::endl;
    if (absl::ToDoubleSeconds(absl::Now() - start) > arguments.seconds) break;
  }
  PrintFigures(*arguments.subject, outcomes);
  if (!arguments.lines.empty() && !lines)
    bench::Die(absl::StrCat("cannot write ", arguments.lines));
  return 0;
}

}  // namespace
}  // namespace dpledger::accountant

int main(int argc, char** argv) {
  return dpledger::accountant::Main(dpledger::accountant::Parse(argc, argv));
}
