#include "tests/cli/server_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace dpledger::testing {

ServerProcess::ServerProcess() { Start(); }

ServerProcess::~ServerProcess() {
  if (running()) Stop();
}

void ServerProcess::Start() {
  const std::string port_file = folder_.File("port");
  unlink(port_file.c_str());
  pid_ = StartProgram({BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file",
                       port_file, "--store", folder_.File("store")},
                      folder_.File("log"));
  // The file is written whole, with the address, once the server listens; a server that ends
  // instead ends the wait.
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::ifstream(port_file) >> address_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_ = 0;
  std::ostringstream log;
  log << std::ifstream(folder_.File("log")).rdbuf();
  FAIL() << "dpledger-server did not start: " << log.str();
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
