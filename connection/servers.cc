#include "connection/servers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "connection/connection.h"
#include "connection/shared_connections.h"

namespace dpledger::connection {

bool MayDoBetterElsewhere(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
      return true;
    case absl::StatusCode::kUnauthenticated:
      return ReasonOf(status).reason.empty();  // a proxy's 401
    default:
      return false;
  }
}

absl::StatusOr<std::unique_ptr<Servers>> Servers::Of(const ServerAccess& access) {
  ASSIGN_OR_RETURN(const ServerAccess complete, Complete(access));
  std::vector<ServerAccess> each = EachOf(complete);
  ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> first, ConnectTo(each.front()));
  return std::unique_ptr<Servers>(new Servers(std::move(each), std::move(first)));
}

std::shared_ptr<grpc::Channel> Servers::channel() const {
  absl::MutexLock lock(&mutex_);
  return channel_;
}

absl::Status Servers::MoveOn(const std::shared_ptr<grpc::Channel>& from,
                             const absl::Status& ended) {
  if (each_.empty() || !MayDoBetterElsewhere(ended)) return ended;
  absl::MutexLock lock(&mutex_);
  const bool stood_still = absl::IsDeadlineExceeded(ended);
  if (from == channel_) {
    last_words_[at_] = ended.ToString(absl::StatusToStringMode::kWithNoExtraData);
    if (stood_still) SharedConnections::OfProcess().GiveUp(from.get());
    if (stood_still || each_.size() > 1) {
      const size_t next = (at_ + 1) % each_.size();
      // A certificate's file that cannot be read just now: the old channel has read it.
      if (auto channel = ConnectTo(each_[next]); channel.ok()) {
        channel_ = *std::move(channel);
        at_ = next;
      }
    }
  }
  if (each_.size() == 1) return ended;
  std::string lines = "no server has answered:";
  for (size_t i = 0; i < each_.size(); ++i) {
    absl::StrAppend(&lines, "\n  ", each_[i].address, ": ",
                    last_words_[i].empty() ? "not asked yet" : last_words_[i]);
  }
  const absl::Status told(ended.code(), lines);
  const ErrorReason reason = ReasonOf(ended);
  return reason.reason.empty() ? told : WithReason(told, reason);
}

absl::Status Servers::Ask(
    absl::FunctionRef<absl::Status(const std::shared_ptr<grpc::Channel>& channel)> call) {
  absl::Status ended;
  size_t asked = 0;
  do {
    const std::shared_ptr<grpc::Channel> server = channel();
    ended = call(server);
    if (ended.ok() || !MayDoBetterElsewhere(ended)) return ended;
    ended = MoveOn(server, ended);
  } while (++asked < each_.size());
  return ended;
}

}  // namespace dpledger::connection
