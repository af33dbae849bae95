// A real server whose whole folder lies on a FaultFs, and writers that append to it until it
// refuses: what they were told is stored must be there after the power comes back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/cli/process.h"
#include "tests/fault/fault_fs.h"

namespace dpledger::testing {

// The notes of one ledger that were acknowledged, by sequence.
using Acknowledged = std::map<uint64_t, std::string>;

class PoweredServer {
 public:
  ~PoweredServer();

  // Mounts the folder as the disk holds it. UNAVAILABLE if this machine cannot mount.
  absl::Status PowerOn();
  FaultFs& disk() { return *disk_; }
  // Starts the server and waits until it listens or has ended; UNAVAILABLE with its log if it has.
  absl::Status Start();
  const std::string& address() const { return address_; }
  // Sends `signal` if it is not 0, and waits for the server's end; its exit code.
  int End(int signal);
  std::string Log() const;
  // Four writers, each with a ledger of its own, append `batches` batches of notes each, or fewer
  // if the server refuses one.
  void Append(int batches, uint64_t seed);
  // SIGKILL, if it runs; and cuts the power, if it is not cut, and unmounts.
  void PowerOff(Survival survival, uint64_t seed);

  // How many acknowledged notes the running server's ledgers do not hold.
  uint64_t Lost() const;
  uint64_t AcknowledgedCount() const;

 private:
  void Kill();

  TemporaryFolder folder_;
  std::unique_ptr<FaultFs> disk_;
  std::string address_;
  pid_t pid_ = 0;
  int exit_code_ = 0;  // of the server that ended last by itself or by End
  std::map<std::string, Acknowledged> acknowledged_;  // by ledger
  uint64_t requests_ = 0;                             // makes request ids unique over all rounds
};

}  // namespace dpledger::testing
