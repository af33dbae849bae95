// A cache of plans for the implementations of fft.h: planning costs as much as one transform or
// more.
//
// Thread safe. A fork waits for a planning, so that the child has the lock free and the plans
// whole, whatever the parent's other threads were doing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dpledger::accountant {

// Held while a plan is looked up, made or destroyed, and by a fork.
std::mutex& PlannerMutex();

// The sizes of the plans that are kept, together; 12 bytes each with FFTW. The last one used stays,
// whatever its size.
inline constexpr size_t kKeptPoints = size_t{1} << 23;

// The plan for `size`, made by Plan(size) unless it is kept.
template <typename Plan>
std::shared_ptr<const Plan> PlanFor(size_t size) {
  struct Kept {
    size_t size;
    std::shared_ptr<const Plan> plan;
  };
  std::vector<std::shared_ptr<const Plan>> dropped;  // destroyed once the lock is free
  const std::lock_guard<std::mutex> lock(PlannerMutex());
  static auto& kept = *new std::list<Kept>;  // the last one used first
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& one) { return one.size == size; });
  if (found != kept.end()) {
    kept.splice(kept.begin(), kept, found);
    return kept.front().plan;
  }
  const auto destroy = [](const Plan* plan) {
    const std::lock_guard<std::mutex> planner(PlannerMutex());
    delete plan;
  };
  kept.push_front({size, std::shared_ptr<const Plan>(new Plan(size), destroy)});
  size_t points = 0;
  for (auto one = kept.begin(); one != kept.end();) {
    points += one->size;
    if (points > kKeptPoints && one != kept.begin()) {
      dropped.push_back(std::move(one->plan));
      one = kept.erase(one);
    } else {
      ++one;
    }
  }
  return kept.front().plan;
}

}  // namespace dpledger::accountant
