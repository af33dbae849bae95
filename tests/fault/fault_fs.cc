#include "tests/fault/fault_fs.h"

#include <spawn.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

constexpr int kControlInChild = 3;
constexpr size_t kMostAnswerBytes = 65536;

// Starts the program with `control` as its descriptor 3.
absl::StatusOr<pid_t> Start(std::vector<std::string> words, int control) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control, kControlInChild);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot start ", words[0]));
  return pid;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FaultFs>> FaultFs::Mount(const std::string& backing,
                                                        const std::string& mountpoint,
                                                        const Options& options) {
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    return absl::UnavailableError("no file system in user space: /dev/fuse cannot be opened");
  }
  std::error_code error;
  std::filesystem::create_directories(backing, error);
  if (!error) std::filesystem::create_directories(mountpoint, error);
  if (error) return absl::InternalError(absl::StrCat("cannot make folders: ", error.message()));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a socket");
  }
  std::vector<std::string> words = {BinaryPath("fault_fs"), backing, mountpoint,
                                    absl::StrCat(kControlInChild)};
  if (options.page_cache) words.emplace_back("page-cache");
  const auto pid = Start(std::move(words), ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  std::unique_ptr<FaultFs> disk(new FaultFs(mountpoint, ends[0], *pid));
  const auto ready = disk->Hear();
  if (ready.ok()) return disk;
  if (absl::StrContains(ready.status().message(), "cannot mount")) {
    return absl::UnavailableError(ready.status().message());
  }
  return ready.status();
}

FaultFs::FaultFs(std::string mountpoint, int control, pid_t pid)
    : mountpoint_(std::move(mountpoint)), control_(control), pid_(pid) {}

FaultFs::~FaultFs() { End().IgnoreError(); }

absl::StatusOr<std::string> FaultFs::Hear() {
  std::string answer(kMostAnswerBytes, '\0');
  ssize_t count = 0;
  do {
    count = recv(control_, answer.data(), answer.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return absl::InternalError("fault_fs has ended");
  answer.resize(static_cast<size_t>(count));
  if (!absl::StartsWith(answer, "ok")) return absl::InternalError(answer);
  return answer.substr(2);
}

absl::StatusOr<std::string> FaultFs::Ask(const std::string& command) {
  if (pid_ == 0) return absl::FailedPreconditionError("the file system is unmounted");
  if (send(control_, command.data(), command.size(), MSG_NOSIGNAL) < 0) {
    return absl::ErrnoToStatus(errno, "fault_fs does not listen");
  }
  return Hear();
}

absl::Status FaultFs::Cut(Survival survival, uint64_t seed) {
  cut_ = true;
  return Ask(absl::StrCat("cut ", static_cast<int>(survival), " ", seed)).status();
}

absl::Status FaultFs::Fail(const FaultRule& rule) {
  RETURN_IF_ERROR(FaultRules().Add(rule));
  cut_ = cut_ || rule.cut;
  return Ask(absl::StrCat("fail ", RuleText(rule))).status();
}

absl::Status FaultFs::ClearFaults() { return Ask("clear").status(); }

absl::Status FaultFs::IgnoreSync(bool ignored) {
  return Ask(absl::StrCat("ignore-sync ", ignored ? 1 : 0)).status();
}

absl::StatusOr<std::map<std::string, uint64_t>> FaultFs::Counts() {
  ASSIGN_OR_RETURN(const std::string text, Ask("counts"));
  std::map<std::string, uint64_t> counts;
  for (const auto& word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(word, '=');
    if (!absl::SimpleAtoi(pair.second, &counts[pair.first])) return absl::InternalError(text);
  }
  return counts;
}

absl::Status FaultFs::Unmount() {
  if (pid_ == 0) return absl::FailedPreconditionError("the file system is unmounted already");
  // Only root may ask; without it, the program unmounts whoever works there.
  if (!cut_ && umount2(mountpoint_.c_str(), UMOUNT_NOFOLLOW) != 0 && errno == EBUSY) {
    return absl::FailedPreconditionError(
        absl::StrCat(mountpoint_, ": a program still has files open"));
  }
  return End();
}

absl::Status FaultFs::End() {
  if (pid_ == 0) return absl::OkStatus();
  const std::string command = "quit";
  send(control_, command.data(), command.size(), MSG_NOSIGNAL);  // it may have ended already
  const absl::Status status = Hear().status();
  close(control_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (geteuid() == 0) umount2(mountpoint_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);  // if it died
  return status;
}

}  // namespace dpledger::testing
