#include "client/internal/fast_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "client/internal/real.h"

namespace dpledger::client::internal {
namespace {

// abs(value + ln(numerator 2^-64)), over what the word is certified for.
double ShareOfError(const CertifiedLog& log, const Real& numerator) {
  Real u(320), difference(320);
  mpfr_div_2ui(u, numerator, 64, MPFR_RNDN);
  NegativeLog(difference, u, MPFR_RNDN);
  mpfr_sub_d(difference, difference, log.value, MPFR_RNDN);
  mpfr_abs(difference, difference, MPFR_RNDN);
  mpfr_div_d(difference, difference, log.error, MPFR_RNDU);
  return mpfr_get_d(difference, MPFR_RNDU);
}

// At both ends of the word's interval, where the logarithm is farthest from that of the middle.
double WorstShare(uint64_t word) {
  const CertifiedLog log = NegativeLog(word);
  Real end(320);
  mpfr_set_uj(end, word, MPFR_RNDN);
  const double lower = ShareOfError(log, end);
  mpfr_add_ui(end, end, 1, MPFR_RNDN);
  return std::max(lower, ShareOfError(log, end));
}

TEST(FastLog, IsWithinItsErrorForEveryContinuationOfTheWord) {
  std::vector<uint64_t> words;
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (const uint64_t near : {power, power + 1, power - 1, ~power, ~power - 1}) {
      if (near != 0) words.push_back(near);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t word = random() >> (i % 64);
    if (word != 0) words.push_back(i % 3 == 0 ? ~word : word);
  }
  double worst = 0;
  for (const uint64_t word : words) {
    if (word == 0) continue;
    const double share = WorstShare(word);
    ASSERT_LE(share, 1) << word;
    worst = std::max(worst, share);
  }
  // It is no larger than it need be: the interval of a small word is nearly all of it.
  EXPECT_GT(worst, 0.9);
}

TEST(FastLog, SaysNothingOfAWordThatMayBeZero) {
  EXPECT_EQ(NegativeLog(0).error, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace dpledger::client::internal
