// The servers of one access, for those who call for days: one of them is called at a time, and
// another one once it does not answer. They share a database, so that what one of them acknowledged
// the others hold.
//
// Thread safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "connection/server_access.h"
#include "grpcpp/channel.h"

namespace dpledger::connection {

// Whether another server, or a new connection to the same one, may do better than what ended with
// this: nobody answers, or not in time, or something between the two does, or the server is out of
// order. A server that asks for patience, or refuses, answers for all of them.
bool MayDoBetterElsewhere(const absl::Status& status);

class Servers {
 public:
  // Those of Complete(access), the first one first. Connects when first used. Errors of Complete,
  // and of files that cannot be read.
  static absl::StatusOr<std::unique_ptr<Servers>> Of(const ServerAccess& access);
  // One channel, and no other.
  explicit Servers(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}

  // To the server that is called at present.
  std::shared_ptr<grpc::Channel> channel() const;

  // To be told what a call over `from` ended with. If MayDoBetterElsewhere, calls go to the next
  // address from then on, also where somebody else was faster to say so; to the only one over a new
  // connection, if the old one stood still (DEADLINE_EXCEEDED). Gives `ended` with the last words
  // of each address, where there are several.
  absl::Status MoveOn(const std::shared_ptr<grpc::Channel>& from, const absl::Status& ended);

  // Makes a call that may be made twice: to each server once, until one of them answers.
  absl::Status Ask(
      absl::FunctionRef<absl::Status(const std::shared_ptr<grpc::Channel>& channel)> call);

 private:
  Servers(std::vector<ServerAccess> each, std::shared_ptr<grpc::Channel> channel)
      : each_(std::move(each)), channel_(std::move(channel)), last_words_(each_.size()) {}

  const std::vector<ServerAccess> each_;  // none: one channel, and no other
  mutable absl::Mutex mutex_;
  size_t at_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> last_words_ ABSL_GUARDED_BY(mutex_);  // of each; empty: none yet
};

}  // namespace dpledger::connection
