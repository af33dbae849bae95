// Programs run for real: their exit code, what they print, and temporary folders for their files.
// Nothing here waits for ever: a program that does not end in time is killed, and named.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dpledger::testing {

struct RunResult {
  int exit_code;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
};

// The path of a program of this build.
std::string BinaryPath(const std::string& program);

// Runs `arguments[0]` with the rest to its end. `environment` goes over this process's own; stdin
// is empty.
RunResult RunProgram(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment = {});

// Runs the command line program with these arguments.
RunResult Dpledger(std::vector<std::string> arguments);

// The same with a terminal for stdin, where somebody has typed `typed`.
RunResult DpledgerOnTerminal(std::vector<std::string> arguments, const std::string& typed);

// Starts a program that keeps running, its output in `log_path`.
pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log_path);

// Waits for the end; the exit code as in RunResult.
int AwaitProgram(pid_t pid);

// Sends `signal` and waits for the end.
int StopProgram(pid_t pid, int signal);

// Waits until a program that was just started writes `file`; its first line. If it ends instead, or
// does neither, it is gone, and an exception ends the test with what it wrote into `log_path`.
std::string AwaitFirstLine(pid_t pid, const std::string& file, const std::string& log_path);

// A loopback address that nobody else uses: a port on it stays free while the program that listens
// there is down. On 127.0.0.1 another program's port or connection may take it.
std::string OwnLoopbackAddress();

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file into it; returns its path.
  std::string Write(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

}  // namespace dpledger::testing
