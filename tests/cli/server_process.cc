#include "tests/cli/server_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace dpledger::testing {

std::vector<std::string> CreateLedger(const std::string& name, const std::string& dataset,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"ledger", "create", name,     "--dataset",
                                        dataset,  "--unit", "example"};
  const auto add_default = [&](const std::string& flag, const std::string& value) {
    if (std::find(more.begin(), more.end(), flag) != more.end()) return;
    arguments.insert(arguments.end(), {flag, value});
  };
  add_default("--adjacency", "add-or-remove-one");
  add_default("--parameters", "fixed");
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ServerProcess::ServerProcess(const std::string& store)
    : store_(store.empty() ? folder_.File("store") : store) {
  Start();
}

ServerProcess::~ServerProcess() {
  if (running()) Stop();
}

void ServerProcess::Start() {
  const std::string port_file = folder_.File("port");
  unlink(port_file.c_str());
  const std::string http_port_file = folder_.File("http_port");
  unlink(http_port_file.c_str());
  const std::string log = folder_.File("log");
  const pid_t pid = StartProgram(
      {BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file", port_file,
       "--store", store_, "--http-listen", "127.0.0.1:0", "--http-port-file", http_port_file},
      log);
  address_ = AwaitFirstLine(pid, port_file, log);
  http_address_ = AwaitFirstLine(pid, http_port_file, log);
  pid_ = pid;
}

int ServerProcess::Stop() {
  const int exit_code = StopProgram(pid_, SIGTERM);
  pid_ = 0;
  return exit_code;
}

void ServerProcess::Restart() {
  if (running()) Stop();
  Start();
}

}  // namespace dpledger::testing
