// One server, one trainer, their files, and what may be said about them at any moment.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "tests/cli/process.h"
#include "tests/fault/crashing_server.h"
#include "tests/fault/released.h"

namespace dpledger::testing {

// A trainer process (trainer.cc) with its own files in `folder`, which it finds again when it is
// started again.
class Trainer {
 public:
  // `prefix` is a program that runs it, with its arguments.
  Trainer(std::string server, std::string ledger, std::string writer, v1::SpoolPolicy policy,
          std::vector<std::string> prefix = {});
  // Keeps its spool in a folder that is not its own.
  void KeepSpoolIn(std::string folder) { spool_folder_ = std::move(folder); }
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // `extras` are the words at the end of the command line.
  void Start(uint64_t rounds, const std::vector<std::string>& extras = {});
  void Kill();
  bool Runs() const { return pid_ > 0; }  // or has ended, and nobody has asked
  // Kill, but it may have ended before.
  void Crash();
  // The exit code, when it has come to its end by itself; 128 + signal if a signal ended it.
  int Await();
  // Tells it to finish its round, deliver everything and close; its exit code.
  int Finish();
  // Waits until it has released `more` rounds more than `before`. False if it ended instead.
  bool AwaitReleases(size_t before, size_t more);

  Rounds Released() const { return ReleasedRounds(folder_.File("released")); }
  // What waits in its spool; only while it does not run.
  Rounds Spooled() const;
  const std::string& ledger() const { return ledger_; }
  const std::string& writer() const { return writer_; }
  std::string Log() const;

 private:
  const std::string server_;
  const std::string ledger_;  // full name
  const std::string writer_;
  const v1::SpoolPolicy policy_;
  const std::vector<std::string> prefix_;
  TemporaryFolder folder_;
  std::string spool_folder_;
  pid_t pid_ = 0;
};

// The ledger's interval for ε of the whole ledger, or of rounds that are not in one, at δ = 1e-5.
struct EpsilonInterval {
  double lower;
  double upper;
};
EpsilonInterval EpsilonOfLedger(const std::string& server, const std::string& ledger);
EpsilonInterval EpsilonOfRounds(const std::string& server, const Rounds& rounds);

}  // namespace dpledger::testing
