// One life of a server on a disk of which one call fails, and the life after it: what may be said
// of them at any point of failure. Not thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/fault/power_server.h"

namespace dpledger::testing {

class PointLife {
 public:
  enum class Outcome { kRefusedToStart, kStopped, kFinished };

  // A new store: start, a ledger, some batches, signed checkpoints, end. `rule` counts from before
  // the start; without a call's name, nothing fails. With `bait`, a folder of that name is made
  // beside the store meanwhile: a call that is not the server's.
  void Live(const FaultRule& rule, bool bait = false);
  // After a power cut that kept nothing that was not synced: the same requests once more.
  void LiveAgain();

  // What must not have been. That something was acknowledged after the first error is no complaint
  // but `went_on`: not every call matters to what is stored.
  const std::vector<std::string>& complaints() const { return complaints_; }
  bool went_on() const { return went_on_; }
  Outcome outcome() const { return outcome_; }
  bool struck() const { return struck_; }
  // On which file the call was to be made, without its folder.
  const std::string& struck_file() const { return struck_file_; }
  // Whether it refused to start by an assertion of the storage engine, not by a message.
  bool aborted() const { return aborted_; }
  // The calls of the first life.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  uint64_t acknowledged() const { return acknowledged_.size(); }

 private:
  // Whether the server took everything.
  bool Work(bool bait);
  bool Append(v1::LedgerService::Stub& stub, int batch);
  bool Sign();
  void ReadCounts();

  PoweredServer server_;
  bool struck_ = false;
  std::string struck_file_;
  bool went_on_ = false;
  bool aborted_ = false;
  bool again_ = false;  // the life after it
  Outcome outcome_ = Outcome::kFinished;
  std::map<std::string, uint64_t> counts_;
  Acknowledged acknowledged_;
  std::vector<std::string> complaints_;
};

}  // namespace dpledger::testing
