#include "connection/shared_connections.h"

#include <utility>

namespace dpledger::connection {
namespace {

constexpr size_t kUsersOfAChannel = 64;

}  // namespace

SharedConnections& SharedConnections::OfProcess() {
  static auto* const kAll = new SharedConnections(kUsersOfAChannel);
  return *kAll;
}

std::shared_ptr<grpc::Channel> SharedConnections::Get(
    const std::string& key, const std::function<std::shared_ptr<grpc::Channel>()>& make) {
  absl::MutexLock lock(&table_->mutex);
  auto& channels = table_->channels;
  auto found = channels.lower_bound(key);
  const auto end = channels.upper_bound(key);
  while (found != end && (found->second.given_up || found->second.users >= table_->max_users)) {
    ++found;
  }
  if (found == end) found = channels.emplace(key, Shared{make()});
  ++found->second.users;
  const auto leave = [table = table_, found](grpc::Channel*) {
    std::shared_ptr<grpc::Channel> last;  // closes its connection without the lock
    absl::MutexLock leaving(&table->mutex);
    if (--found->second.users > 0) return;
    last = std::move(found->second.channel);
    table->channels.erase(found);
  };
  return {found->second.channel.get(), leave};
}

void SharedConnections::GiveUp(const grpc::Channel* channel) {
  absl::MutexLock lock(&table_->mutex);
  for (auto& [key, shared] : table_->channels) {
    if (shared.channel.get() == channel) shared.given_up = true;
  }
}

size_t SharedConnections::channels() const {
  absl::MutexLock lock(&table_->mutex);
  return table_->channels.size();
}

}  // namespace dpledger::connection
