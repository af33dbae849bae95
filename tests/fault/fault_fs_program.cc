// A file system in user space that forgets what was not synced when its power is cut, and whose
// calls fail when a test says so. Tests start it through fault_fs.h; fault_fs_tree.h says what a
// power cut keeps.
//
//   fault_fs BACKING MOUNTPOINT CONTROL_FD [page-cache]
//
// BACKING is read at the start and written at a power cut or at the end; between them all bytes are
// in memory, so that the speed and the faults of the machine's own disk have no part in a test. The
// command "quit", or the end of the test's process, ends it. One thread answers the kernel and the
// test in turn: a command falls between two calls, never into one.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/fault/fault_fs_calls.h"

namespace dpledger::testing {
namespace {

constexpr size_t kMostCommandBytes = 4096;

std::string& LastComplaint() {
  static auto& complaint = *new std::string;
  return complaint;
}

// libfuse only prints why it cannot mount; the test wants to know.
void KeepComplaint(fuse_log_level, const char* format, va_list arguments) {
  char text[512];
  vsnprintf(text, sizeof(text), format, arguments);
  LastComplaint() = text;
}

void Say(int control, const std::string& text) {
  if (send(control, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    std::cerr << "fault_fs: nobody hears: " << text << "\n";
  }
}

// False if the test is gone or wants the end.
bool AnswerTest(int control, FaultDisk& disk) {
  std::string command(kMostCommandBytes, '\0');
  const ssize_t count = recv(control, command.data(), command.size(), 0);
  if (count <= 0) return count < 0 && errno == EINTR;
  command.resize(static_cast<size_t>(count));
  if (command == "quit") return false;
  Say(control, disk.Command(command));
  return true;
}

// False if it is unmounted.
bool AnswerKernel(fuse_session* session, fuse_buf& buffer) {
  const int count = fuse_session_receive_buf(session, &buffer);
  if (count == -EINTR) return true;
  if (count <= 0) return false;
  fuse_session_process_buf(session, &buffer);
  return fuse_session_exited(session) == 0;
}

// Until the test wants the end, also when it has unmounted before: a socket that is closed with a
// command unread would take the last answer with it.
void Serve(fuse_session* session, int control, FaultDisk& disk) {
  fuse_buf buffer = {};
  pollfd sources[] = {{fuse_session_fd(session), POLLIN, 0}, {control, POLLIN, 0}};
  bool open = true;
  while (open) {
    if (poll(sources, 2, -1) < 0) continue;
    if (sources[1].revents != 0) open = AnswerTest(control, disk);
    if (open && sources[0].revents != 0 && !AnswerKernel(session, buffer)) sources[0].fd = -1;
  }
  free(buffer.mem);
}

absl::Status Run(const std::string& mountpoint, int control, FaultCalls& calls) {
  std::vector<std::string> words = {"fault_fs", "-o", "default_permissions,fsname=fault_fs"};
  // Others than root, such as PostgreSQL's user, may come in.
  if (geteuid() == 0) words.back() += ",allow_other";
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  fuse_set_log_func(KeepComplaint);
  const fuse_lowlevel_ops operations = FaultOperations();
  const std::unique_ptr<fuse_session, void (*)(fuse_session*)> session(
      fuse_session_new(&arguments, &operations, sizeof(operations), &calls), fuse_session_destroy);
  fuse_opt_free_args(&arguments);
  if (session == nullptr || fuse_session_mount(session.get(), mountpoint.c_str()) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot mount: ", LastComplaint()));
  }
  Say(control, "ok");
  Serve(session.get(), control, calls.disk);
  const absl::Status status = calls.disk.Store();
  fuse_session_unmount(session.get());
  return status;
}

int Main(const std::vector<std::string>& words) {
  int control = 0;
  if (words.size() < 4 || !absl::SimpleAtoi(words[3], &control)) {
    std::cerr << "usage: fault_fs BACKING MOUNTPOINT CONTROL_FD [page-cache]\n";
    return 2;
  }
  // The end of the test's process is the sign to end, not the signal that ends it.
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    signal(signal_number, SIG_IGN);
  }
  FaultCalls calls = {FaultDisk(words[1]), words.size() > 4 && words[4] == "page-cache"};
  absl::Status status = calls.disk.Load();
  if (status.ok()) status = Run(words[2], control, calls);
  Say(control, status.ok() ? "ok" : absl::StrCat("error ", status.message()));
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace dpledger::testing

int main(int argc, char** argv) { return dpledger::testing::Main({argv, argv + argc}); }
