// The least times of works that take turns, so that they meet the same load: another's load only
// adds. Works of a millisecond or two find a moment without it on most machines.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace dpledger::bench {

class Turns {
 public:
  // `work` handles `items`, `repeats` times. Returns the nanoseconds an item took this time.
  double Time(const std::string& name, size_t items, int repeats,
              const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) work();
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    spent_ += took;
    const double ns = 1e9 * took / repeats / static_cast<double>(items);
    const auto [least, added] = least_.emplace(name, ns);
    if (!added) least->second = std::min(least->second, ns);
    return ns;
  }
  // Seconds, of all works together.
  double spent() const { return spent_; }
  // Nanoseconds an item.
  double least(const std::string& name) const { return least_.at(name); }

 private:
  double spent_ = 0;
  std::map<std::string, double> least_;
};

}  // namespace dpledger::bench
