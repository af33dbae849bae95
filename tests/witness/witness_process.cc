#include "tests/witness/witness_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace dpledger::testing {

WitnessProcess::WitnessProcess(const std::vector<merkle::VerifierKey>& log_keys,
                               const std::vector<std::string>& more_flags)
    : flags_(more_flags) {
  for (const merkle::VerifierKey& key : log_keys) {
    flags_.emplace_back("--log-key");
    flags_.push_back(key.ToText());
  }
  if (std::find(flags_.begin(), flags_.end(), "--log-server") == flags_.end())
    flags_.emplace_back("--consistency-only");
  Start();
}

WitnessProcess::~WitnessProcess() {
  if (pid_ > 0) Stop(SIGKILL);
}

std::vector<std::string> WitnessProcess::Command() const {
  std::vector<std::string> command = {BinaryPath("dpledger-witness"),
                                      "--listen",
                                      address_,
                                      "--port-file",
                                      folder_.File("port"),
                                      "--signing-key",
                                      folder_.File("key.pem"),
                                      "--name",
                                      kName,
                                      "--state",
                                      folder_.File("state")};
  command.insert(command.end(), flags_.begin(), flags_.end());
  return command;
}

void WitnessProcess::Start() {
  const std::string port_file = folder_.File("port");
  unlink(port_file.c_str());
  const pid_t pid = StartProgram(Command(), folder_.File("log"));
  address_ = AwaitFirstLine(pid, port_file, folder_.File("log"));
  pid_ = pid;
}

int WitnessProcess::Stop(int signal) {
  const int exit_code = StopProgram(pid_, signal);
  pid_ = 0;
  return exit_code;
}

std::string WitnessProcess::Log() const {
  std::ostringstream log;
  log << std::ifstream(folder_.File("log")).rdbuf();
  return log.str();
}

std::string WitnessProcess::VerifierKey() const {
  std::vector<std::string> command = Command();
  command.push_back("--print-key");
  const RunResult result = RunProgram(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out.substr(0, result.out.find('\n'));
}

}  // namespace dpledger::testing
