// Where implementations of fft.h keep their plans: one for each size, for the life of the process.
// There are few sizes (2^a 3^b 5^c), and planning costs as much as one transform or more.
//
// Thread safe. A fork waits for a planning, so that the child has the lock free and the plans
// whole, whatever the parent's other threads were doing.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace dpledger::accountant {

// Held while a plan is looked up or made, and by a fork.
std::mutex& PlannerMutex();

// The plan for `size`, made by Plan(size) at the first use.
template <typename Plan>
const Plan* PlanFor(size_t size) {
  const std::lock_guard<std::mutex> lock(PlannerMutex());
  static auto& plans = *new std::map<size_t, Plan>;
  return &plans.try_emplace(size, size).first->second;
}

}  // namespace dpledger::accountant
