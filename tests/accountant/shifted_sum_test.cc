#include "accountant/numeric/shifted_sum.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/targets.h"

namespace dpledger::accountant {
namespace {

// The same bits as by plain loops, on every machine: whole blocks of vectors and what is left.
TEST(ShiftedSum, IsWhatItSaysOnEveryTarget) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr ptrdiff_t kReach = 40;
  for (const size_t size : {0, 1, 7, 8, 31, 32, 33, 127, 515}) {
    std::vector<double> in(size + 2 * kReach), before(size);
    for (double& x : in) x = uniform(random);
    for (double& x : before) x = uniform(random);
    std::vector<Shift> shifts;
    for (const ptrdiff_t place : {ptrdiff_t{0}, -kReach, kReach, ptrdiff_t{3}, ptrdiff_t{-17}})
      shifts.push_back({place, uniform(random)});
    std::vector<double> expected = before;
    for (size_t i = 0; i < size; ++i) {
      for (const Shift& shift : shifts)
        expected[i] +=
            shift.mass * in[static_cast<size_t>(static_cast<ptrdiff_t>(i) + kReach + shift.place)];
    }
    ::dpledger::testing::OnEveryTarget([&](const std::string& target) {
      std::vector<double> out = before;
      AddShifted(shifts, in.data() + kReach, out.data(), size);
      EXPECT_EQ(out, expected) << target << ", " << size;
    });
  }
}

}  // namespace
}  // namespace dpledger::accountant
