#include "tests/fault/network_pair.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

constexpr char kIp[] = "/usr/sbin/ip";
constexpr char kNsenter[] = "/usr/bin/nsenter";
constexpr char kUnshare[] = "/usr/bin/unshare";
constexpr char kSleep[] = "/usr/bin/sleep";
// No host has it: what is sent there is lost.
constexpr char kNobody[] = "02:00:00:00:00:99";

std::string NetworkOf(const std::string& process) {
  char target[64] = {};
  const ssize_t length =
      readlink(absl::StrCat("/proc/", process, "/ns/net").c_str(), target, sizeof target - 1);
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

absl::Status Run(std::vector<std::string> words) {
  const RunResult result = RunProgram(words);
  if (result.exit_code == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(absl::StrJoin(words, " "), ": ", result.err));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NetworkPair>> NetworkPair::Make() {
  for (const char* program : {kIp, kNsenter, kUnshare, kSleep}) {
    if (access(program, X_OK) != 0) {
      return absl::UnavailableError(absl::StrCat(program, ": is not there"));
    }
  }
  if (unshare(CLONE_NEWNET) != 0) {
    return absl::UnavailableError(absl::ErrnoToStatus(errno, "no network namespace").message());
  }
  const pid_t holder = StartProgram({kUnshare, "--net", kSleep, "infinity"}, "/dev/null");
  std::unique_ptr<NetworkPair> pair(new NetworkPair(holder));
  // Until it has left our namespace.
  int status = 0;
  while (NetworkOf(absl::StrCat(holder)) == NetworkOf("thread-self")) {
    if (waitpid(holder, &status, WNOHANG) != 0) {
      pair->holder_ = 0;
      return absl::UnavailableError("no second network namespace");
    }
    absl::SleepFor(absl::Milliseconds(1));
  }
  RETURN_IF_ERROR(pair->Connect());
  return pair;
}

NetworkPair::~NetworkPair() {
  if (holder_ > 0) StopProgram(holder_, SIGKILL);
}

std::vector<std::string> NetworkPair::OnFar() const {
  return {kNsenter, absl::StrCat("--net=/proc/", holder_, "/ns/net"), "--"};
}

absl::Status NetworkPair::Connect() {
  const auto far = [this](std::vector<std::string> words) {
    const std::vector<std::string> prefix = OnFar();
    words.insert(words.begin(), prefix.begin(), prefix.end());
    return Run(words);
  };
  RETURN_IF_ERROR(Run({kIp, "link", "set", "lo", "up"}));
  RETURN_IF_ERROR(Run({kIp, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns",
                       absl::StrCat(holder_)}));
  RETURN_IF_ERROR(Run({kIp, "address", "add", absl::StrCat(kNear, "/24"), "dev", "near"}));
  RETURN_IF_ERROR(Run({kIp, "link", "set", "near", "up"}));
  RETURN_IF_ERROR(far({kIp, "link", "set", "lo", "up"}));
  RETURN_IF_ERROR(far({kIp, "address", "add", absl::StrCat(kFar, "/24"), "dev", "far"}));
  return far({kIp, "link", "set", "far", "up"});
}

void NetworkPair::Break(Cut cut) {
  std::vector<std::string> words;
  // At the far end: the near one keeps its address, so that the test still reaches what is there.
  if (cut == Cut::kPulled) {
    words = OnFar();
    for (const char* word : {kIp, "link", "set", "far", "down"}) words.emplace_back(word);
  }
  if (cut == Cut::kToFarLost) {
    words = {kIp, "neigh", "replace", kFar, "lladdr", kNobody, "nud", "permanent", "dev", "near"};
  }
  if (cut == Cut::kToNearLost) {
    words = OnFar();
    for (const char* word :
         {kIp, "neigh", "replace", kNear, "lladdr", kNobody, "nud", "permanent", "dev", "far"}) {
      words.emplace_back(word);
    }
  }
  const absl::Status status = Run(words);
  EXPECT_TRUE(status.ok()) << status;
}

void NetworkPair::Mend(Cut cut) {
  std::vector<std::string> words;
  if (cut == Cut::kPulled) {
    words = OnFar();
    for (const char* word : {kIp, "link", "set", "far", "up"}) words.emplace_back(word);
  }
  if (cut == Cut::kToFarLost) words = {kIp, "neigh", "del", kFar, "dev", "near"};
  if (cut == Cut::kToNearLost) {
    words = OnFar();
    for (const char* word : {kIp, "neigh", "del", kNear, "dev", "far"}) words.emplace_back(word);
  }
  const absl::Status status = Run(words);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace dpledger::testing
