// A PostgreSQL server of a test's own: made from nothing in a temporary folder, reached through a
// socket in it and by no network, with fsync on; stopped, killed, given a synchronous standby and
// promoted as the test wants. What a call cannot do ends the process with a message: a test without
// its database has nothing to say.
//
// PostgreSQL refuses to run as root: it runs as the user `postgres` then. The server dies with the
// thread that started it, so that no test leaves one behind. Not thread safe, but for Query.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpledger {

class PostgresServer {
 public:
  // Makes the database's files and starts it.
  PostgresServer();
  // Kills it, and removes its files.
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // For libpq: the superuser, the database `postgres`.
  std::string Connection() const;
  // One that follows a failover from one of the servers to another.
  static std::string Connection(const std::vector<const PostgresServer*>& servers);

  // Starts it again, and waits until it takes connections.
  void Start();
  // As an operator stops it ("fast"): clients are thrown out.
  void Stop();
  // SIGKILL to the server and all its processes, as when the machine dies; its files stay.
  void Kill();
  bool running() const { return pid_ > 0; }
  // Stops all its processes where they are, as a machine does that is frozen; Kill may follow.
  void Freeze();

  // A copy of this server that follows it, and without which its commits do not return from now on.
  // Waits until they are in step.
  std::unique_ptr<PostgresServer> MakeSynchronousStandby();
  // Makes a standby take writes; waits until it does.
  void Promote();

  // Runs SQL as the superuser; the first column of the first row, or nothing.
  absl::StatusOr<std::string> Query(const std::string& sql) const;
  // The same, expecting it to work.
  std::string Must(const std::string& sql) const;
  // Asks until the answer is `answer`; a minute at most.
  void Await(const std::string& sql, const std::string& answer) const;

  const std::string& folder() const { return folder_; }
  // What the server printed.
  std::string Log() const;

 private:
  struct Empty {};
  explicit PostgresServer(Empty);
  std::string data() const { return folder_ + "/data"; }

  std::string folder_;
  pid_t pid_ = 0;
};

}  // namespace dpledger
