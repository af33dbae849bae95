// Where a privatizer says what it is about to do to the data. The promise behind it: noise is
// released only after its event is durable, so a crash can make a ledger say too much, never too
// little.
//
// An event can be recorded before the work that it describes is done, so that its way to the
// server takes none of the training's time: what is never released is then in the ledger too.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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
                                       std::vector<v1::SumQuery> queries) {
    return RecordRound(scheme, v1::SAMPLE_STATED, std::move(queries));
  }

  // Records a mechanism that is not a round, such as correlated noise over a whole run. Returns a
  // number of the same kind, which no round has.
  virtual absl::StatusOr<uint64_t> RecordMechanism(const v1::MechanismEvent& mechanism) = 0;

  // Returns OK once everything up to and including `number` may be released under the recorder's
  // policy (FAIL_CLOSED: acknowledged by the server; SPOOL: durable in the local spool). On an
  // error nothing may be released.
  virtual absl::Status AwaitReleasable(uint64_t number) = 0;
};

}  // namespace dpledger::client
