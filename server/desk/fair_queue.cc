#include "server/desk/fair_queue.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace dpledger::server {

void FairQueue::Push(Task task) {
  Party& party = parties_[std::move(task.party)];
  if (party.waiting.empty() && party.running == 0) party.used = std::max(party.used, now_);
  party.waiting.push_back({arrivals_++, std::move(task.run)});
  ++size_;
}

FairQueue::Task FairQueue::Pop() {
  auto next = parties_.end();
  for (auto party = parties_.begin(); party != parties_.end(); ++party) {
    if (party->second.waiting.empty()) continue;
    const auto order = [](const Party& p) {
      // Those with a task that runs have not been charged for it yet.
      return std::tuple(p.used, p.running, p.waiting.front().arrival);
    };
    if (next == parties_.end() || order(party->second) < order(next->second)) next = party;
  }
  Party& party = next->second;
  now_ = std::max(now_, party.used);
  Task task = {next->first, std::move(party.waiting.front().run)};
  party.waiting.pop_front();
  ++party.running;
  --size_;
  ++running_;
  return task;
}

void FairQueue::Done(const std::string& name, absl::Duration took) {
  Party& party = parties_[name];
  party.used += std::max(took, absl::ZeroDuration());
  --party.running;
  --running_;
  Forget();
}

void FairQueue::Forget() {
  if (size_ == 0 && running_ == 0) {
    parties_.clear();
    now_ = absl::ZeroDuration();
    return;
  }
  for (auto party = parties_.begin(); party != parties_.end();) {
    const Party& of = party->second;
    const bool idle = of.waiting.empty() && of.running == 0 && of.used <= now_;
    party = idle ? parties_.erase(party) : std::next(party);
  }
}

}  // namespace dpledger::server
