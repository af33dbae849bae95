// A trainer without a model: records rounds and "releases" their noise by writing each into a file,
// synced, until it has done its number of rounds or gets SIGTERM. Then it closes its ledger and
// exits with 0.
//
//   fault_trainer SERVER LEDGER WRITER SPOOL_FOLDER fail-closed|spool RELEASED_FILE ROUNDS [broken]
//   [die|die-inside]
//
// `broken` releases before it records: what the checks of this folder must notice. `die` kills the
// process with SIGKILL right after the last round's release; `die-inside` when that round is
// recorded, and before it is waited for: as a step that is computing its gradients.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/recorder.h"
#include "tests/fault/released.h"

namespace dpledger::testing {
namespace {

volatile sig_atomic_t stop = 0;

struct Orders {
  client::RecorderOptions recorder;
  std::string released_file;
  uint64_t rounds = 0;
  bool broken = false;
  bool die = false;
  bool die_inside = false;
};

bool Release(int fd, uint64_t round, double noise) {
  const std::string line = absl::StrCat(round, " ", noise, "\n");
  return write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
         fdatasync(fd) == 0;
}

absl::StatusOr<uint64_t> Record(client::PrivacyRecorder& recorder, double noise, bool dies_inside) {
  v1::SamplingScheme scheme;
  scheme.mutable_poisson()->set_probability(kSamplingProbability);
  v1::SumQuery query;
  query.set_group("weights");
  query.set_l2_norm_bound(1);
  query.set_noise_stddev(noise);
  const auto round = recorder.RecordRound(scheme, {query});
  if (!round.ok()) return round.status();
  if (dies_inside) raise(SIGKILL);
  const absl::Status releasable = recorder.AwaitReleasable(*round);
  if (!releasable.ok()) return releasable;
  return round;
}

absl::Status Train(const Orders& orders) {
  const int fd =
      open(orders.released_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  auto recorder = client::PrivacyRecorder::Open(orders.recorder);
  if (!recorder.ok()) return recorder.status();
  uint64_t next = 0;  // the number that a broken trainer expects
  for (uint64_t i = 0; i < orders.rounds && stop == 0; ++i) {
    const double noise = NoiseOfStep(i);
    const bool is_last = i + 1 == orders.rounds;
    const bool dies = orders.die && is_last;
    bool released = !orders.broken || Release(fd, next, noise);
    if (orders.broken && dies) raise(SIGKILL);
    const auto round = Record(**recorder, noise, orders.die_inside && is_last);
    if (!round.ok()) return round.status();
    if (!orders.broken) released = Release(fd, *round, noise);
    if (!released) return absl::DataLossError("cannot write released rounds");
    if (dies) raise(SIGKILL);
    next = *round + 1;
  }
  return (*recorder)->Close();
}

int Main(const std::vector<std::string>& arguments) {
  Orders orders;
  if (arguments.size() < 8 || !absl::SimpleAtoi(arguments[7], &orders.rounds)) {
    std::cerr << "fault_trainer: wrong arguments\n";
    return 2;
  }
  orders.recorder.server = arguments[1];
  orders.recorder.ledger = arguments[2];
  orders.recorder.writer = arguments[3];
  orders.recorder.spool_folder = arguments[4];
  orders.recorder.policy = arguments[5] == "spool" ? v1::SPOOL : v1::FAIL_CLOSED;
  orders.recorder.declaration = FaultDeclaration();
  orders.recorder.plan_varies = true;  // NoiseOfStep
  orders.recorder.first_backoff = absl::Milliseconds(10);
  orders.recorder.longest_backoff = absl::Milliseconds(100);
  orders.released_file = arguments[6];
  orders.broken = std::count(arguments.begin(), arguments.end(), "broken") > 0;
  orders.die = std::count(arguments.begin(), arguments.end(), "die") > 0;
  orders.die_inside = std::count(arguments.begin(), arguments.end(), "die-inside") > 0;
  const absl::Status status = Train(orders);
  if (!status.ok()) std::cerr << "fault_trainer: " << status << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace dpledger::testing

int main(int argc, char** argv) {
  signal(SIGTERM, [](int) { dpledger::testing::stop = 1; });
  return dpledger::testing::Main({argv, argv + argc});
}
