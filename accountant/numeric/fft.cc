#include "accountant/numeric/fft.h"

#include <pthread.h>

#include "accountant/numeric/fft_plans.h"

namespace dpledger::accountant {
namespace {

std::mutex planner_mutex;
const int at_fork = pthread_atfork([] { planner_mutex.lock(); }, [] { planner_mutex.unlock(); },
                                   [] { planner_mutex.unlock(); });

}  // namespace

std::mutex& PlannerMutex() { return planner_mutex; }

size_t NextFastSize(size_t n) {
  if (n <= 8) return 8;
  size_t power = 16;
  while (power < n) power *= 2;
  for (const size_t eighths : {size_t{5}, size_t{6}}) {
    if (power / 8 * eighths >= n) return power / 8 * eighths;
  }
  return power;
}

}  // namespace dpledger::accountant
