// Lets a program of the store's owner have a snapshot of the store while the server runs, over a
// socket beside the store: `dpledger-server backup` copies it from there.
//
//  1. The rights of the socket's file are the rule: its owner and root may connect, who can read
//     the store and end the server anyway. Nothing of it is on the network.
//  2. Nothing that is sent names a place: the snapshot is always at SnapshotFolder.
//  3. The snapshot is there as long as the connection is: a program that dies leaves nothing. One
//     at a time.
//
// The program says "snapshot\n"; the server answers "ok\n", or "error " and why on one line.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/store.h"
#include "server/log.h"

namespace dpledger::server {

// Beside the store's folder.
std::string SnapshotFolder(const std::string& store_folder);
std::string SnapshotSocket(const std::string& store_folder);

// Serves until it is destroyed. Thread safe.
class SnapshotDoor {
 public:
  // `store` and `log` must outlive the door. Removes what a killed server has left. Errors of the
  // system if the socket cannot be made.
  static absl::StatusOr<std::unique_ptr<SnapshotDoor>> Open(const std::string& store_folder,
                                                            LedgerStore* store, const Log* log);
  ~SnapshotDoor();  // takes a snapshot away that is being copied
  SnapshotDoor(const SnapshotDoor&) = delete;
  SnapshotDoor& operator=(const SnapshotDoor&) = delete;

 private:
  SnapshotDoor(const std::string& store_folder, LedgerStore* store, const Log* log, int listener,
               int stop);
  void Run();
  // Whether something can be read from the descriptor before the time is over; not if the door
  // stops. Tells those who come meanwhile that another one is served, if `busy`.
  bool AwaitReadable(int descriptor, absl::Duration within, bool busy);
  void Serve(int connection);

  const std::string folder_;
  const std::string socket_;
  LedgerStore& store_;
  const Log& log_;
  const int listener_;
  const int stop_;  // readable from the end on
  std::thread thread_;
};

// A connection to the door of a server that has the store open, with a snapshot. The snapshot goes
// with it.
class SnapshotLease {
 public:
  // NOT_FOUND if no server has the store open, as far as the socket tells; UNAVAILABLE and what the
  // server says if it makes no snapshot; PERMISSION_DENIED.
  static absl::StatusOr<std::unique_ptr<SnapshotLease>> Take(const std::string& store_folder);
  ~SnapshotLease();
  SnapshotLease(const SnapshotLease&) = delete;
  SnapshotLease& operator=(const SnapshotLease&) = delete;

  // Whether the server still keeps the snapshot.
  bool held() const;

 private:
  explicit SnapshotLease(int connection) : connection_(connection) {}
  const int connection_;
};

}  // namespace dpledger::server
