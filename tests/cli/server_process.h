// A real server on a free loopback port with a store of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace dpledger::testing {

// The arguments of `ledger create`: add-or-remove-one and fixed unless `more` says otherwise.
std::vector<std::string> CreateLedger(const std::string& name, const std::string& dataset,
                                      const std::vector<std::string>& more = {});

class ServerProcess {
 public:
  // Starts and waits until it listens. The store is at `store`, or in a folder of its own.
  explicit ServerProcess(const std::string& store = "");
  ~ServerProcess();

  // "127.0.0.1:<port>"
  const std::string& address() const { return address_; }
  // Of its HTTP door.
  const std::string& http_address() const { return http_address_; }
  bool running() const { return pid_ > 0; }
  // Ends it with SIGTERM; its exit code.
  int Stop();
  // Starts it again on the same store, on another port.
  void Restart();

 private:
  void Start();

  TemporaryFolder folder_;
  const std::string store_;
  std::string address_;
  std::string http_address_;
  pid_t pid_ = 0;
};

}  // namespace dpledger::testing
