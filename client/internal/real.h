// MPFR numbers with an owner, for the exact slow paths.
#pragma once

#include <cstdint>

// intmax_t conversions; functions instead of macros, which would not take a Real.
#define MPFR_USE_INTMAX_T
#define MPFR_USE_NO_MACRO
#include <mpfr.h>

#include "absl/types/span.h"

namespace dpledger::client::internal {

// Undefined value until set.
class Real {
 public:
  explicit Real(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;

  operator mpfr_ptr() { return value_; }  // NOLINT: passed on to mpfr_* as it is
  operator mpfr_srcptr() const { return value_; }

 private:
  mpfr_t value_;
};

// The interval of all infinite bit strings that start with `words`, most significant first: both
// ends exact.
struct UniformInterval {
  explicit UniformInterval(absl::Span<const uint64_t> words)
      : lower(Precision(words.size())), upper(Precision(words.size())) {
    mpfr_set_zero(lower, 1);
    for (size_t i = words.size(); i-- > 0;) {
      // mpfr_set_uj takes 64 bits exactly at this precision.
      Real word(64);
      mpfr_set_uj(word, words[i], MPFR_RNDN);
      mpfr_add(lower, lower, word, MPFR_RNDN);
      mpfr_div_2ui(lower, lower, 64, MPFR_RNDN);
    }
    mpfr_set_ui_2exp(upper, 1, -64 * static_cast<mpfr_exp_t>(words.size()), MPFR_RNDN);
    mpfr_add(upper, upper, lower, MPFR_RNDN);
  }

  // 64 bits more than the words themselves.
  static mpfr_prec_t Precision(size_t words) { return 64 * static_cast<mpfr_prec_t>(words) + 64; }

  Real lower, upper;
};

// -ln(x), rounded in the given direction; +infinity for 0.
inline void NegativeLog(Real& result, const Real& x, mpfr_rnd_t direction) {
  mpfr_log(result, x, direction == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD);
  mpfr_neg(result, result, MPFR_RNDN);
}

}  // namespace dpledger::client::internal
