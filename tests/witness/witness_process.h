// A real witness on a loopback port, with a key and a state folder of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "merkle/signed_note.h"
#include "tests/cli/process.h"
#include "tests/witness/http_call.h"

namespace dpledger::testing {

class WitnessProcess {
 public:
  static constexpr char kName[] = "example.org/witness";

  // Starts and waits until it listens; an exception if it does not. Without a --log-server it
  // cosigns for consistency alone.
  explicit WitnessProcess(const std::vector<merkle::VerifierKey>& log_keys,
                          const std::vector<std::string>& more_flags = {});
  ~WitnessProcess();
  WitnessProcess(const WitnessProcess&) = delete;
  WitnessProcess& operator=(const WitnessProcess&) = delete;

  // "<host>:<port>", the same over every start.
  const std::string& address() const { return address_; }
  std::string url() const { return "http://" + address_; }
  std::string File(const std::string& name) const { return folder_.File(name); }
  std::string Log() const;
  // As --print-key prints it.
  std::string VerifierKey() const;

  void Start();
  int Stop(int signal);  // the exit code
  std::vector<std::string> Command() const;

  HttpAnswer AddCheckpoint(const std::string& body) const {
    return HttpPost(address_, "/add-checkpoint", body);
  }

 private:
  const TemporaryFolder folder_;
  std::vector<std::string> flags_;
  std::string address_ = OwnLoopbackAddress() + ":0";
  pid_t pid_ = 0;
};

}  // namespace dpledger::testing
