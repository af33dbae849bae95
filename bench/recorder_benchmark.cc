// What recording costs a training run: the time of a synthetic step of 10 ms with a recorder beside
// that without, for both policies, with the server and the spool on this machine and in this
// folder.
//
//   recorder_benchmark [--seconds S]
//
// A step records one sum query as it begins, computes for about 10 ms on one thread, and waits
// until the round may be released: what a privatizer does. Steps with and without take turns, so
// that both meet the same load and disk. The overhead is the median of how much longer a step with
// was than the one before it, over the median step without: another program's work shows in single
// steps, and sums would count it. Also how many rounds a second reach the server when none is
// waited for, as after the server was away. Prints one JSON object, and on stderr what the training
// thread spent in the two calls.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/local_server.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "client/recorder.h"

namespace dpledger {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(10);

using bench::Check;
using bench::Die;

// Keeps a processor busy; the result must be used, or the work could be left out.
double Compute(int64_t iterations) {
  double x = 1;
  for (int64_t i = 0; i < iterations; ++i) x = std::sqrt(x + static_cast<double>(i & 7));
  return x;
}

// How much of it takes one step; the least of several, for another's load only adds.
int64_t IterationsOfAStep() {
  constexpr int64_t kProbe = 200'000;
  absl::Duration least = absl::InfiniteDuration();
  double used = 0;
  for (int i = 0; i < 50; ++i) {
    const absl::Time start = absl::Now();
    used += Compute(kProbe);
    least = std::min(least, absl::Now() - start);
  }
  if (!(used > 0)) Die("the processor computes nothing");
  return static_cast<int64_t>(kProbe * absl::FDivDuration(kStep, least));
}

std::unique_ptr<client::PrivacyRecorder> OpenRecorder(int port, const std::string& folder,
                                                      const std::string& ledger,
                                                      v1::SpoolPolicy policy) {
  client::RecorderOptions options;
  options.server = absl::StrCat("127.0.0.1:", port);
  options.ledger = ledger;
  options.policy = policy;
  options.spool_folder = folder;
  options.declaration = bench::Declared();
  return bench::Must(client::PrivacyRecorder::Open(std::move(options)));
}

uint64_t RecordRound(client::EventRecorder& recorder) {
  v1::SamplingScheme scheme;
  scheme.mutable_poisson()->set_probability(0.01);
  v1::SumQuery query;
  query.set_group("weights");
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(1.1);
  const auto round = recorder.RecordRound(scheme, {query});
  Check(round.status());
  return *round;
}

absl::Duration Median(std::vector<absl::Duration> times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double OverheadPercent(int port, const std::string& folder, v1::SpoolPolicy policy,
                       double seconds) {
  const auto recorder =
      OpenRecorder(port, folder, policy == v1::SPOOL ? "spool" : "fail-closed", policy);
  Check(recorder->AwaitReleasable(RecordRound(*recorder)));  // the first one connects
  const int64_t iterations = IterationsOfAStep();
  std::vector<absl::Duration> without, longer, recording, waiting;
  double used = 0;
  const absl::Time end = absl::Now() + absl::Seconds(seconds);
  while (absl::Now() < end) {
    const absl::Time start = absl::Now();
    used += Compute(iterations);
    const absl::Time begun = absl::Now();
    const uint64_t round = RecordRound(*recorder);
    const absl::Time recorded = absl::Now();
    used += Compute(iterations);
    const absl::Time computed = absl::Now();
    Check(recorder->AwaitReleasable(round));
    const absl::Time released = absl::Now();
    without.push_back(begun - start);
    longer.push_back((released - begun) - without.back());
    recording.push_back(recorded - begun);
    waiting.push_back(released - computed);
  }
  if (!(used > 0)) Die("the processor computes nothing");
  Check(recorder->Close());
  std::fprintf(stderr, "%s: %zu steps, median step %s; to record %s, to wait %s\n",
               v1::SpoolPolicy_Name(policy).c_str(), without.size(),
               absl::FormatDuration(Median(without)).c_str(),
               absl::FormatDuration(Median(recording)).c_str(),
               absl::FormatDuration(Median(waiting)).c_str());
  return 100 * absl::FDivDuration(Median(longer), Median(without));
}

double RoundsPerSecond(int port, const std::string& folder, double seconds) {
  const auto recorder = OpenRecorder(port, folder, "burst", v1::SPOOL);
  const absl::Time start = absl::Now();
  uint64_t rounds = 0;
  for (; absl::Now() < start + absl::Seconds(seconds); ++rounds) RecordRound(*recorder);
  Check(recorder->Close());  // all of them are in the ledger
  return static_cast<double>(rounds) / absl::ToDoubleSeconds(absl::Now() - start);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  const bench::LocalServer server(folder.path() + "/store");

  const auto measure = [&](v1::SpoolPolicy policy) {
    return OverheadPercent(server.port(), folder.path() + "/spool", policy, seconds * 0.45);
  };
  bench::Report report("client/recorder_");
  report.Add("overhead_percent", measure(v1::FAIL_CLOSED), "%");
  report.Add("spool_overhead_percent", measure(v1::SPOOL), "%");
  report.Add("spool_rounds_per_second",
             RoundsPerSecond(server.port(), folder.path() + "/spool", seconds * 0.03), "1/s");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
