// Where a privatizer says what it is about to do to the data. The promise behind it: noise is
// released only after its event is durable, so a crash can make a ledger say too much, never too
// little.
//
// An event can be recorded before the work that it describes is done, so that its way to the
// server takes none of the training's time: what is never released is then in the ledger too.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/event/event.h"
#include "client/run_state.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

class EventRecorder {
 public:
  virtual ~EventRecorder() = default;

  // Records a round: its sample, by the scheme that really draws it, and all sum queries on that
  // sample. Returns its number, which is greater than all before. Does not wait for the network.
  // `source` says who drew that sample.
  virtual absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme& scheme,
                                               v1::SampleSource source,
                                               std::vector<v1::SumQuery> queries) = 0;
  // The same of a sample that the trainer states.
  absl::StatusOr<uint64_t> RecordRound(const v1::SamplingScheme& scheme,
                                       std::vector<v1::SumQuery> queries);
  // The same of values.
  absl::StatusOr<uint64_t> RecordRound(const accountant::SamplingScheme& scheme,
                                       accountant::SampleSource source,
                                       const std::vector<accountant::SumQuery>& queries);

  // Records a mechanism that is not a round, such as correlated noise over a whole run. Returns a
  // number of the same kind, which no round has.
  virtual absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) = 0;

  // Returns OK once everything up to and including `number` may be released under the recorder's
  // policy (FAIL_CLOSED: acknowledged by the server; SPOOL: durable in the local spool). On an
  // error nothing may be released.
  virtual absl::Status AwaitReleasable(uint64_t number) = 0;

  // What it keeps for the next process; null: nothing.
  virtual KeptRun* kept() { return nullptr; }
  // FAILED_PRECONDITION for a sample of an epoch that the sampler which is kept did not draw: its
  // epoch would be taken for the one that is carried on. `keeper`: Sampler::keeper, null for a
  // sample that the trainer states.
  absl::Status CheckEpochKept(const accountant::SamplingScheme& scheme,
                              const EventRecorder* keeper);
};

}  // namespace dpledger::client
