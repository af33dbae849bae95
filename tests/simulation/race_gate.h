// A gate as a race has it: what takes its thread long is waited for, and it is not ready now and
// then all the same, before it has worked a batch out or after.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "server/questions/filter_gate.h"
#include "tests/simulation/chance.h"

namespace dpledger::simulation {

class RaceGate : public server::FilterGate {
 public:
  // `forgets`: RaceFlaws. `chance` must outlive this.
  RaceGate(Chance& chance, bool forgets) : chance_(chance), forgets_(forgets) {}

  absl::Status Admit(const LedgerHead& head, const LedgerChange& change, std::string_view caller,
                     LedgerReader& reader, Ahead* ahead) override {
    if (forgets_ && seen_.insert(head.name).second) return absl::OkStatus();
    const uint64_t mood = chance_.Below(24);
    if (mood == 0) return NotReady();
    absl::Status admitted = FilterGate::Admit(head, change, caller, reader, ahead);
    // At most the ledger is read and then a kind of round worked out. A batch that follows one of
    // its own group which costs nothing may not be ready before that is stored.
    for (int i = 0; i < 3 && IsNotReady(admitted); ++i) {
      WaitUntilIdle(head, change, caller, reader);
      admitted = FilterGate::Admit(head, change, caller, reader, ahead);
    }
    if (IsNotReady(admitted)) WaitUntilIdle(head, change, caller, reader);
    return mood == 1 && admitted.ok() ? NotReady() : admitted;
  }

 private:
  static absl::Status NotReady() {
    return WithReason(absl::AbortedError("not now"), {server::kFilterNotReady, {}});
  }
  static bool IsNotReady(const absl::Status& status) {
    return ReasonOf(status).reason == server::kFilterNotReady;
  }

  // The gate's thread takes one thing after the other: once it knows that there is no ledger of a
  // name, it has done all that it was asked for before, and reads the store no more.
  void WaitUntilIdle(LedgerHead head, const LedgerChange& change, std::string_view caller,
                     LedgerReader& reader) {
    absl::StrAppend(&head.name, "-none", ++waits_);
    while (IsNotReady(FilterGate::Admit(head, change, caller, reader, nullptr)))
      absl::SleepFor(absl::Microseconds(20));
  }

  Chance& chance_;
  const bool forgets_;
  std::set<std::string> seen_;
  uint64_t waits_ = 0;
};

}  // namespace dpledger::simulation
