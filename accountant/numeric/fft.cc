#include "accountant/numeric/fft.h"

#include <pthread.h>

#include <algorithm>

#include "accountant/numeric/fft_plans.h"

namespace dpledger::accountant {
namespace {

std::mutex planner_mutex;
const int at_fork = pthread_atfork([] { planner_mutex.lock(); }, [] { planner_mutex.unlock(); },
                                   [] { planner_mutex.unlock(); });

}  // namespace

std::mutex& PlannerMutex() { return planner_mutex; }

size_t NextFastSize(size_t n) {
  size_t best = 2;
  while (best < n) best *= 2;
  for (size_t five = 1; five < best; five *= 5) {
    for (size_t three = five; three < best; three *= 3) {
      size_t size = std::max<size_t>(three, 2);
      while (size < n) size *= 2;
      if (size % 2 == 0) best = std::min(best, size);
    }
  }
  return best;
}

}  // namespace dpledger::accountant
