#include "server/snapshot_door.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQuestion = "snapshot\n";
constexpr std::string_view kGranted = "ok\n";
constexpr size_t kLongestAnswer = 4096;
constexpr absl::Duration kToAsk = absl::Seconds(5);
// A program that hangs must not keep removed tables on the disk for ever.
constexpr absl::Duration kToCopy = absl::Hours(24);
// Tables are linked and logs copied within a second or so; a disk under load may take longer.
constexpr int kToMakeMilliseconds = 120'000;

// 0 if `use` succeeds with the path as an address, of any length (those of sockets have 108 bytes);
// else its errno.
absl::StatusOr<int> AtAddress(
    const fs::path& path, absl::FunctionRef<bool(const sockaddr* address, socklen_t size)> use) {
  const fs::path parent = path.parent_path();
  const int folder =
      ::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return ErrnoError(errno, "open the folder of", path.string());
  const auto close = absl::MakeCleanup([folder] { ::close(folder); });
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = absl::StrCat("/proc/self/fd/", folder, "/", path.filename().string());
  if (name.size() >= sizeof(address.sun_path)) {
    return FieldError("store",
                      absl::StrCat("must have a shorter name, for the socket ", path.string()));
  }
  std::copy(name.begin(), name.end(), address.sun_path);
  return use(reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ? 0 : errno;
}

void Say(int connection, std::string_view text) {
  // A line fits into the socket's buffer. Who does not read it has gone.
  (void)::send(connection, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

absl::StatusOr<int> Listen(const std::string& path) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return ErrnoError(errno, "listen at", path);
  auto close = absl::MakeCleanup([listener] { ::close(listener); });
  // The socket's file gets the socket's own mode (unix(7)); the store's lock is held, so whoever
  // made a file of this name before does not run any more.
  ASSIGN_OR_RETURN(const int error, AtAddress(path, [&](const sockaddr* address, socklen_t size) {
                     return ::fchmod(listener, 0600) == 0 &&
                            (::unlink(path.c_str()) == 0 || errno == ENOENT) &&
                            ::bind(listener, address, size) == 0 && ::listen(listener, 4) == 0;
                   }));
  if (error != 0) return ErrnoError(error, "listen at", path);
  std::move(close).Cancel();
  return listener;
}

}  // namespace

std::string SnapshotFolder(const std::string& store_folder) {
  return Beside(store_folder, ".backup-in-progress");
}
std::string SnapshotSocket(const std::string& store_folder) {
  return Beside(store_folder, ".control");
}

SnapshotDoor::SnapshotDoor(const std::string& store_folder, LedgerStore* store, const Log* log,
                           int listener, int stop)
    : folder_(SnapshotFolder(store_folder)),
      socket_(SnapshotSocket(store_folder)),
      store_(*store),
      log_(*log),
      listener_(listener),
      stop_(stop),
      thread_([this] { Run(); }) {}

absl::StatusOr<std::unique_ptr<SnapshotDoor>> SnapshotDoor::Open(const std::string& store_folder,
                                                                 LedgerStore* store,
                                                                 const Log* log) {
  std::error_code ignored;
  fs::remove_all(SnapshotFolder(store_folder), ignored);
  const int stop = ::eventfd(0, EFD_CLOEXEC);
  if (stop < 0) return ErrnoError(errno, "make", "an event");
  absl::StatusOr<int> listener = Listen(SnapshotSocket(store_folder));
  if (!listener.ok()) {
    ::close(stop);
    return listener.status();
  }
  return std::unique_ptr<SnapshotDoor>(new SnapshotDoor(store_folder, store, log, *listener, stop));
}

SnapshotDoor::~SnapshotDoor() {
  const uint64_t one = 1;
  while (::write(stop_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  ::unlink(socket_.c_str());
  ::close(listener_);
  ::close(stop_);
}

bool SnapshotDoor::AwaitReadable(int descriptor, absl::Duration within, bool busy) {
  const absl::Time until = absl::Now() + within;
  while (absl::Now() < until) {
    pollfd watched[] = {{stop_, POLLIN, 0}, {descriptor, POLLIN, 0}, {listener_, POLLIN, 0}};
    const absl::Duration left = std::min(until - absl::Now(), absl::Minutes(1));
    const int found =
        ::poll(watched, busy ? 3 : 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (watched[0].revents != 0) return false;
    if (found > 0 && watched[1].revents != 0) return true;
    if (found > 0 && busy && watched[2].revents != 0) {
      const int other = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (other < 0) continue;
      Say(other, "error another backup is being made\n");
      ::close(other);
    }
  }
  return false;
}

void SnapshotDoor::Run() {
  ::pthread_setname_np(::pthread_self(), "snapshots");  // as top and perf show it
  while (true) {
    pollfd watched[] = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    ::poll(watched, 2, -1);
    if (watched[0].revents != 0) return;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      // Without descriptors the same connection would be found again at once.
      absl::SleepFor(absl::Milliseconds(100));
      continue;
    }
    Serve(connection);
    ::close(connection);
  }
}

void SnapshotDoor::Serve(int connection) {
  std::string asked;
  while (asked.size() < kQuestion.size()) {
    char bytes[kQuestion.size()];
    if (!AwaitReadable(connection, kToAsk, false)) return;
    const ssize_t size = ::recv(connection, bytes, kQuestion.size() - asked.size(), 0);
    if (size <= 0) return;
    asked.append(bytes, static_cast<size_t>(size));
  }
  if (asked != kQuestion) return Say(connection, "error not a question that this server knows\n");
  const absl::Time begun = absl::Now();
  const absl::Status made = store_.SnapshotTo(folder_);
  log_.Write(made.ok() ? LogLevel::kInfo : LogLevel::kWarning,
             made.ok() ? "snapshot_made" : "snapshot_failed",
             {{"folder", folder_},
              {"milliseconds", absl::ToDoubleMilliseconds(absl::Now() - begun)},
              {"message", std::string(made.message())}});
  if (!made.ok()) {
    return Say(connection,
               absl::StrCat(
                   "error ",
                   absl::StrReplaceAll(made.message(), {{"\n", " "}}).substr(0, kLongestAnswer / 2),
                   "\n"));
  }
  Say(connection, kGranted);
  AwaitReadable(connection, kToCopy, true);  // the other end closes, or says something: it is done
  std::error_code error;
  fs::remove_all(folder_, error);
  log_.Write(error ? LogLevel::kWarning : LogLevel::kInfo, "snapshot_removed",
             {{"folder", folder_}, {"message", error ? error.message() : ""}});
}

absl::StatusOr<std::unique_ptr<SnapshotLease>> SnapshotLease::Take(
    const std::string& store_folder) {
  const std::string path = SnapshotSocket(store_folder);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<SnapshotLease> lease(new SnapshotLease(connection));
  ASSIGN_OR_RETURN(const int error, AtAddress(path, [&](const sockaddr* address, socklen_t size) {
                     return connection >= 0 && ::connect(connection, address, size) == 0;
                   }));
  if (error == ENOENT || error == ECONNREFUSED)
    return absl::NotFoundError(absl::StrCat(path, ": no server answers there"));
  if (error != 0) return ErrnoError(error, "connect to the server at", path);
  Say(connection, kQuestion);
  std::string answer;
  while (answer.size() < kLongestAnswer && !answer.ends_with('\n')) {
    pollfd watched = {connection, POLLIN, 0};
    if (::poll(&watched, 1, kToMakeMilliseconds) <= 0)
      return absl::UnavailableError("the server makes no snapshot in two minutes");
    char bytes[256];
    const ssize_t size = ::recv(connection, bytes, sizeof(bytes), 0);
    if (size <= 0) return absl::UnavailableError("the server has ended");
    answer.append(bytes, static_cast<size_t>(size));
  }
  if (answer == kGranted) return lease;
  const std::string_view why = std::string_view(answer).substr(0, answer.find('\n'));
  return absl::UnavailableError(
      absl::StrCat("the server makes no snapshot: ",
                   std::string(why.starts_with("error ") ? why.substr(6) : why)));
}

SnapshotLease::~SnapshotLease() {
  if (connection_ >= 0) ::close(connection_);
}

bool SnapshotLease::held() const {
  pollfd watched = {connection_, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 0;
}

}  // namespace dpledger::server
