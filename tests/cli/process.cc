#include "tests/cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace dpledger::testing {
namespace {

std::string Slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// In the child, before exec: only async-signal-safe calls. The child ends with the thread that
// started it, so that a test that is killed leaves no program behind.
[[noreturn]] void Exec(char* const* arguments, char* const* environment, int in, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t Spawn(std::vector<std::string> arguments, const std::map<std::string, std::string>& added,
            const std::string& out_path, const std::string& err_path,
            const std::string& in_path = "/dev/null") {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string assignment = *variable;
    if (added.count(assignment.substr(0, assignment.find('='))) > 0) continue;
    environment.push_back(assignment);
  }
  for (const auto& [name, value] : added) environment.push_back(name + "=" + value);
  const int flags = O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC;
  const int in = open(in_path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  const int out = open(out_path.c_str(), flags, 0600);
  const int err = open(err_path.c_str(), flags, 0600);
  std::vector<char*> argument_pointers = Pointers(arguments);
  std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t pid = fork();
  if (pid == 0) Exec(argument_pointers.data(), environment_pointers.data(), in, out, err);
  close(in);
  close(out);
  close(err);
  return pid;
}

// Less than a test program may take, so that it can say what it waited for.
constexpr std::chrono::seconds kPatience{240};
constexpr std::chrono::seconds kStartPatience{60};

// False if the program still runs after that time. It can still be waited for.
bool EndsInTime(pid_t pid, std::chrono::microseconds time) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point late = Clock::now() + time;
  std::chrono::microseconds pause{100};
  while (true) {
    siginfo_t ended = {};
    if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0)
      return true;
    if (ended.si_pid == pid) return true;
    if (Clock::now() >= late) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds{5000});
  }
}

std::string NameOf(pid_t pid) { return Slurp("/proc/" + std::to_string(pid) + "/comm"); }

}  // namespace

std::string BinaryPath(const std::string& program) {
  const char* folder = std::getenv("DPLEDGER_BIN");
  EXPECT_NE(folder, nullptr) << "DPLEDGER_BIN must name the folder of the programs";
  return std::string(folder == nullptr ? "." : folder) + "/" + program;
}

RunResult RunProgram(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment) {
  const TemporaryFolder folder;
  const pid_t pid = Spawn(arguments, environment, folder.File("out"), folder.File("err"));
  const int exit_code = AwaitProgram(pid);
  return {exit_code, Slurp(folder.File("out")), Slurp(folder.File("err"))};
}

RunResult Dpledger(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), BinaryPath("dpledger"));
  return RunProgram(arguments);
}

RunResult DpledgerOnTerminal(std::vector<std::string> arguments, const std::string& typed) {
  arguments.insert(arguments.begin(), BinaryPath("dpledger"));
  const TemporaryFolder folder;
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    throw std::runtime_error("no terminal can be made");
  }
  const pid_t pid = Spawn(arguments, {}, folder.File("out"), folder.File("err"), ptsname(terminal));
  EXPECT_EQ(write(terminal, typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  const int exit_code = AwaitProgram(pid);
  close(terminal);
  return {exit_code, Slurp(folder.File("out")), Slurp(folder.File("err"))};
}

pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log_path) {
  return Spawn(arguments, {}, log_path, log_path);
}

int AwaitProgram(pid_t pid) {
  if (!EndsInTime(pid, kPatience)) {
    ADD_FAILURE() << "process " << pid << " does not end: " << NameOf(pid);
    kill(pid, SIGKILL);
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int StopProgram(pid_t pid, int signal) {
  if (pid <= 0) {  // kill() would take it for a group of processes
    ADD_FAILURE() << "no such program: " << pid;
    return -1;
  }
  EXPECT_EQ(kill(pid, signal), 0);
  return AwaitProgram(pid);
}

std::string AwaitFirstLine(pid_t pid, const std::string& file, const std::string& log_path) {
  const auto late = std::chrono::steady_clock::now() + kStartPatience;
  std::string line;
  while (!EndsInTime(pid, std::chrono::milliseconds(5)) &&
         std::chrono::steady_clock::now() < late) {
    if (std::getline(std::ifstream(file), line) && !line.empty()) return line;
  }
  const std::string name = NameOf(pid);
  kill(pid, SIGKILL);
  AwaitProgram(pid);
  throw std::runtime_error("did not start: " + name + Slurp(log_path));
}

std::string OwnLoopbackAddress() {
  static std::atomic<int> addresses = 0;
  const int pid = getpid();
  return "127." + std::to_string(128 + addresses++ % 127) + "." + std::to_string(pid >> 8 & 255) +
         "." + std::to_string(pid & 255);
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = ::testing::TempDir() + "/dpledger-cli-XXXXXX";
  const char* made = mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a folder left behind must not fail a test
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::Write(const std::string& name, const std::string& content) const {
  std::ofstream(File(name), std::ios::binary) << content;
  return File(name);
}

}  // namespace dpledger::testing
