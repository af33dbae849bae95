#include "accountant/numeric/vector_math.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "tests/support/targets.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::OnEveryTarget;

using Array = std::vector<double>;
using Vectorised = std::function<void(std::span<const double>, std::span<double>)>;
using Exact = std::function<int(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A 120-bit number that cleans up after itself.
class Big {
 public:
  explicit Big(double x = 0) {
    mpfr_init2(value_, 120);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  ~Big() { mpfr_clear(value_); }
  Big(const Big&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

// |computed - exact| in units in the last place of the exact value.
double Ulps(double computed, Big& exact) {
  const double rounded = mpfr_get_d(exact.get(), MPFR_RNDN);
  if (computed == rounded || (std::isnan(computed) && std::isnan(rounded))) {
    if (!std::isfinite(computed)) return 0;
  }
  if (!std::isfinite(computed)) return kInfinity;
  const double size = std::fmax(std::fabs(mpfr_get_d(exact.get(), MPFR_RNDZ)), 0x1p-1022);
  const double ulp = std::ldexp(1.0, std::ilogb(size) - 52);
  Big difference(computed);
  mpfr_sub(difference.get(), difference.get(), exact.get(), MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN)) / ulp;
}

struct Function {
  std::string name;
  Vectorised vectorised;
  Exact exact;
  double ulps;
  Array arguments;
};

void Sine(std::span<const double> x, std::span<double> out) {
  Array other(x.size());
  SinCos(x, out, other);
}
void Cosine(std::span<const double> x, std::span<double> out) {
  Array other(x.size());
  SinCos(x, other, out);
}

Array Uniform(double low, double high, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> between(low, high);
  Array values;
  for (int i = 0; i < count; ++i) values.push_back(between(random));
  return values;
}
// Of both signs, every size between.
Array LogUniform(double low, double high, int count, uint64_t seed) {
  Array values = Uniform(std::log(low), std::log(high), count, seed);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (i % 2 == 0 ? 1 : -1) * std::exp(values[i]);
  return values;
}
Array operator+(Array a, const Array& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Array Absolute(Array a) {
  for (double& x : a) x = std::fabs(x);
  return a;
}
// Each value with its neighbours.
Array Around(const Array& values) {
  Array all;
  for (const double x : values) {
    for (const double y : {std::nextafter(x, -kInfinity), x, std::nextafter(x, kInfinity)})
      all.push_back(y);
  }
  return all;
}

const std::vector<Function>& Functions() {
  static const auto& functions = *new std::vector<Function>{
      {"exp", Exp, mpfr_exp, kExpUlps,
       Uniform(-745, 709.7, 40000, 1) + Uniform(-1, 1, 20000, 2) + LogUniform(1e-300, 1, 2000, 3) +
           Around({0, 0.34657359, -0.34657359, 1, -708.396, -745.13, 709.78, 1e300, -1e300}) +
           Array{kInfinity, -kInfinity, std::nan("")}},
      {"expm1", ExpM1, mpfr_expm1, kExpM1Ulps,
       Uniform(-40, 709.7, 30000, 4) + Uniform(-2, 2, 40000, 5) + LogUniform(1e-300, 1, 4000, 6) +
           Around({0, 0.34657359, -0.34657359, 1.0397, -1.0397, -37, -40, 41.5, 709.78, 1e300}) +
           Array{kInfinity, -kInfinity, std::nan(""), -1e300}},
      {"log", Log, mpfr_log, kLogUlps,
       Absolute(LogUniform(1e-320, 1e308, 40000, 7)) + Uniform(0.4, 2.5, 40000, 8) +
           Around({1, 0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bcdp0, 0x1p-1022, 5e-324}) +
           Array{0, -1, kInfinity, -kInfinity, std::nan("")}},
      {"log1p", Log1P, mpfr_log1p, kLog1PUlps,
       Absolute(LogUniform(1e-300, 1e308, 20000, 9)) + LogUniform(1e-20, 0.999, 40000, 10) +
           Uniform(-1, 2, 40000, 11) + Around({0, -0.2928932, 0.41421356, 0x1p53, 0x1p54, -0.5}) +
           Array{-1, -2, kInfinity, -kInfinity, std::nan("")}},
      {"sin", Sine, mpfr_sin, kSinCosUlps,
       Uniform(-1e6, 1e6, 40000, 12) + Uniform(-4, 4, 40000, 13) + LogUniform(1e-300, 1, 4000, 14) +
           Around({0, 0.7853981633974483, 1.5707963267948966, 3.141592653589793, 355, 103993, 1e6,
                   -1e6, 710 * 1.5707963267948966})},
      {"cos", Cosine, mpfr_cos, kSinCosUlps,
       Uniform(-1e6, 1e6, 40000, 15) + Uniform(-4, 4, 40000, 16) + LogUniform(1e-300, 1, 4000, 17) +
           Around({0, 0.7853981633974483, 1.5707963267948966, 3.141592653589793, 355, 103993, 1e6,
                   -1e6, 711 * 1.5707963267948966})},
  };
  return functions;
}

TEST(VectorMath, EveryFunctionIsWithinItsBoundOfMpfr) {
  for (const Function& function : Functions()) {
    Array computed(function.arguments.size());
    function.vectorised(function.arguments, computed);
    double worst = 0, at = 0;
    for (size_t i = 0; i < computed.size(); ++i) {
      Big x(function.arguments[i]), exact;
      function.exact(exact.get(), x.get(), MPFR_RNDN);
      const double ulps = Ulps(computed[i], exact);
      if (!(ulps <= worst)) {
        worst = ulps;
        at = function.arguments[i];
      }
    }
    EXPECT_LE(worst, function.ulps) << function.name << "(" << at << ")";
    EXPECT_GE(worst, 0.4) << function.name << ": no function is that good; is it measured?";
  }
}

TEST(VectorMath, Atan2IsWithinItsBoundOfMpfr) {
  Array y = LogUniform(1e-290, 1e290, 4000, 20) + Uniform(-3, 3, 60000, 21);
  Array x = LogUniform(1e-290, 1e290, 4000, 22) + Uniform(-3, 3, 60000, 23);
  for (const double a : {0.0, 1.0, -1.0, 0.41421356237309503, 1e-200}) {
    for (const double b : {0.0, 1.0, -1.0, 0.41421356237309503, 1e200}) {
      y.push_back(a);
      x.push_back(b);
    }
  }
  Array computed(x.size());
  Atan2(y, x, computed);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Big exact_y(y[i]), exact_x(x[i]), exact;
    mpfr_atan2(exact.get(), exact_y.get(), exact_x.get(), MPFR_RNDN);
    const double ulps = Ulps(computed[i], exact);
    ASSERT_LE(ulps, kAtan2Ulps) << y[i] << " " << x[i];
    worst = std::fmax(worst, ulps);
  }
  EXPECT_GE(worst, 0.4);
}

// Bit for bit: an answer must not depend on the machine that gave it.
TEST(VectorMath, EveryTargetGivesTheSameBits) {
  for (const Function& function : Functions()) {
    Array reference;
    OnEveryTarget([&](const std::string& target) {
      Array computed(function.arguments.size());
      function.vectorised(function.arguments, computed);
      if (reference.empty()) reference = computed;
      for (size_t i = 0; i < computed.size(); ++i) {
        if (std::isnan(computed[i]) && std::isnan(reference[i])) continue;
        ASSERT_EQ(std::bit_cast<uint64_t>(computed[i]), std::bit_cast<uint64_t>(reference[i]))
            << function.name << "(" << function.arguments[i] << ") on " << target;
      }
    });
  }
}

TEST(VectorMath, Atan2GivesTheSameBitsOnEveryTarget) {
  const Array y = Uniform(-3, 3, 5000, 21), x = Uniform(-3, 3, 5000, 23);
  Array reference;
  OnEveryTarget([&](const std::string& target) {
    Array computed(x.size());
    Atan2(y, x, computed);
    if (reference.empty()) reference = computed;
    EXPECT_EQ(computed, reference) << target;
  });
}

// Neither the values nor what lies around them depend on length or place.
TEST(VectorMath, EveryLengthAndPlace) {
  OnEveryTarget([](const std::string& target) {
    for (const Function& function : Functions()) {
      constexpr size_t kGreatest = 17;
      const Array source = Uniform(0.1, 2, kGreatest + 8, 30);
      Array whole(source.size());
      function.vectorised(source, whole);
      for (size_t length = 0; length <= kGreatest; ++length) {
        for (size_t offset = 0; offset < 8; ++offset) {
          Array out(kGreatest + 16, 7.0);
          function.vectorised(std::span(source).subspan(offset, length),
                              std::span(out).subspan(offset, length));
          for (size_t i = 0; i < out.size(); ++i) {
            const bool inside = i >= offset && i < offset + length;
            ASSERT_EQ(out[i], inside ? whole[i] : 7.0)
                << function.name << " on " << target << ", length " << length << ", place " << i;
          }
          // In place.
          Array same = source;
          const auto part = std::span(same).subspan(offset, length);
          function.vectorised(part, part);
          for (size_t i = 0; i < length; ++i) ASSERT_EQ(same[offset + i], whole[offset + i]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace dpledger::accountant
