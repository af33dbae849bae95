// A real server that can be killed and started again, on one address and one store.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "tests/cli/process.h"

namespace dpledger::testing {

class CrashingServer {
 public:
  // Starts on a free loopback port and waits until it listens.
  CrashingServer();
  ~CrashingServer();
  CrashingServer(const CrashingServer&) = delete;
  CrashingServer& operator=(const CrashingServer&) = delete;

  // "127.0.0.1:<port>", the same over every start.
  const std::string& address() const { return address_; }
  // What it keeps: its ledgers, its key and its last checkpoint. To be changed only while it is
  // killed.
  std::string files() const { return folder_.File("files"); }

  void Kill();   // SIGKILL
  void Start();  // and waits until it listens
  void Pause();  // it stays connected and does nothing, until Resume
  void Resume();

 private:
  TemporaryFolder folder_;
  std::string address_ = "127.0.0.1:0";
  pid_t pid_ = 0;
};

// The entries of ledger `name` (full name), from 0; checks that sequences are dense and writers'
// counters too.
std::vector<v1::LedgerEntry> ReadLedger(const std::string& address, const std::string& name);

}  // namespace dpledger::testing
