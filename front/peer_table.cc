#include "front/peer_table.h"

#include <utility>

namespace dpledger::front {

PeerTable::Host& PeerTable::HostOf(const std::string& host, absl::Time now) {
  return hosts_.try_emplace(host, Host{0, Allowance(limits_.allowance, now)}).first->second;
}

std::optional<Closing> PeerTable::Enter(const std::string& host, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (connections_ >= limits_.connections) return Closing::kTooMany;
  if (!host.empty()) {
    Host& found = HostOf(host, now);
    if (found.connections >= limits_.connections_per_host) return Closing::kTooManyOfHost;
    // Coming back at once after a connection was ended costs what a reset costs.
    if (!found.allowance.Take(1, now)) return Closing::kSpent;
    ++found.connections;
  }
  ++connections_;
  return std::nullopt;
}

void PeerTable::Leave(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  --connections_;
  if (!host.empty()) --hosts_.at(host).connections;
}

bool PeerTable::Take(const std::string& host, double cost, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return host.empty() || HostOf(host, now).allowance.Take(cost, now);
}

void PeerTable::Name(const std::string& name, std::shared_ptr<const Peer> peer) {
  absl::MutexLock lock(&mutex_);
  named_[name] = std::move(peer);
}

void PeerTable::Unname(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  named_.erase(name);
}

std::shared_ptr<const Peer> PeerTable::Find(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : found->second;
}

size_t PeerTable::size() const {
  absl::MutexLock lock(&mutex_);
  return connections_;
}

void PeerTable::Sweep(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  for (auto at = hosts_.begin(); at != hosts_.end();) {
    const bool forget = at->second.connections == 0 && at->second.allowance.Full(now);
    at = forget ? hosts_.erase(at) : std::next(at);
  }
}

}  // namespace dpledger::front
