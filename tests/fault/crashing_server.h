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
  struct Options {
    std::vector<std::string> flags =
        {};  // besides --store, --checkpoint-copy, --listen and --port-file
    std::vector<std::string> prefix = {};  // a program that runs the server, with its arguments
    std::string host = "";                 // to listen on; one of its own if empty
  };
  // Starts on a free port and waits until it listens.
  CrashingServer() : CrashingServer(Options()) {}
  explicit CrashingServer(Options options);
  ~CrashingServer();
  CrashingServer(const CrashingServer&) = delete;
  CrashingServer& operator=(const CrashingServer&) = delete;

  // "<host>:<port>", the same over every start.
  // Plain text, also on another host.
  std::string address() const {
    return host_.starts_with("127.") ? address_ : "http://" + address_;
  }
  // What it keeps: its ledgers, its key and its last checkpoint. To be changed only while it is
  // killed.
  std::string files() const { return folder_.File("files"); }
  std::string Log() const;

  bool HasEnded();  // by itself
  void Kill();      // SIGKILL
  void Start();     // and waits until it listens; an exception if it does not
  void Pause();     // it stays connected and does nothing, until Resume
  void Resume();

 private:
  const Options options_;
  const std::string host_;
  TemporaryFolder folder_;
  std::string address_;
  pid_t pid_ = 0;
};

// Puts a copy of the files of a server that does not run in the place of folder `to`. Its socket is
// no file of it.
void CopyFiles(const std::string& from, const std::string& to);

// The entries of ledger `name` (full name), from 0; checks that sequences are dense and writers'
// counters too.
std::vector<v1::LedgerEntry> ReadLedger(const std::string& address, const std::string& name);

}  // namespace dpledger::testing
