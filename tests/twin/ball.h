// Real and complex numbers as balls (Debian's libflint-arb; Johansson 2017, "Arb: efficient
// arbitrary-precision midpoint-radius interval arithmetic"): each operation contains its exact
// result, whatever is rounded. Nothing of the accountant's own arithmetic.
#pragma once

#include <acb.h>
#include <arb.h>
#include <arb_hypgeom.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dpledger::twin {

// Bits of all balls made from here on; of this thread.
inline thread_local slong bits = 128;
class Bits {
 public:
  explicit Bits(slong wanted) : before_(std::exchange(bits, wanted)) {}
  ~Bits() { bits = before_; }
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

 private:
  slong before_;
};

class Ball {
 public:
  Ball() { arb_init(x_); }
  Ball(double x) : Ball() { arb_set_d(x_, x); }  // NOLINT: exactly x
  Ball(const Ball& other) : Ball() { arb_set(x_, other.x_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(x_, other.x_); }
  Ball& operator=(Ball other) {
    arb_swap(x_, other.x_);
    return *this;
  }
  ~Ball() { arb_clear(x_); }
  // All of [low, high].
  static Ball Between(double low, double high) {
    Ball result;
    arf_t a, b;
    arf_init(a), arf_init(b);
    arf_set_d(a, low), arf_set_d(b, high);
    arb_set_interval_arf(result.x_, a, b, bits);
    arf_clear(a), arf_clear(b);
    return result;
  }
  static Ball Pi() {
    Ball result;
    arb_const_pi(result.x_, bits);
    return result;
  }

  arb_ptr get() { return x_; }
  arb_srcptr get() const { return x_; }

  // The nearest doubles outside.
  double Lower() const { return Bound(arb_get_lbound_arf, ARF_RND_FLOOR); }
  double Upper() const { return Bound(arb_get_ubound_arf, ARF_RND_CEIL); }
  double Middle() const { return arf_get_d(arb_midref(x_), ARF_RND_NEAR); }
  bool IsFinite() const { return arb_is_finite(x_); }
  // The ball's ends as balls without width.
  Ball Least() const { return End(arb_get_lbound_arf); }
  Ball Greatest() const { return End(arb_get_ubound_arf); }

  // Widens by |by|'s upper end.
  Ball Widened(const Ball& by) const {
    Ball result(*this);
    arb_add_error(result.x_, by.x_);
    return result;
  }

 private:
  using GetEnd = void(arf_t, const arb_t, slong);
  double Bound(GetEnd get_end, arf_rnd_t round) const {
    arf_t end;
    arf_init(end);
    get_end(end, x_, 64);
    const double result = arf_get_d(end, round);
    arf_clear(end);
    return result;
  }
  Ball End(GetEnd get_end) const {
    Ball result;
    arf_t end;
    arf_init(end);
    get_end(end, x_, bits);
    arb_set_arf(result.x_, end);
    arf_clear(end);
    return result;
  }

  arb_t x_;
};

#define DPLEDGER_TWIN_BINARY(name, function)        \
  inline Ball name(const Ball& a, const Ball& b) {  \
    Ball result;                                    \
    function(result.get(), a.get(), b.get(), bits); \
    return result;                                  \
  }
#define DPLEDGER_TWIN_UNARY(name, function) \
  inline Ball name(const Ball& a) {         \
    Ball result;                            \
    function(result.get(), a.get(), bits);  \
    return result;                          \
  }
DPLEDGER_TWIN_BINARY(operator+, arb_add)
DPLEDGER_TWIN_BINARY(operator-, arb_sub)
DPLEDGER_TWIN_BINARY(operator*, arb_mul)
DPLEDGER_TWIN_BINARY(operator/, arb_div)
DPLEDGER_TWIN_BINARY(Power, arb_pow)
DPLEDGER_TWIN_BINARY(Angle, arb_atan2)  // of b + ia: Angle(a, b)
DPLEDGER_TWIN_BINARY(Min, arb_min)
DPLEDGER_TWIN_BINARY(Max, arb_max)
DPLEDGER_TWIN_UNARY(Exp, arb_exp)
DPLEDGER_TWIN_UNARY(ExpM1, arb_expm1)
DPLEDGER_TWIN_UNARY(Log, arb_log)
DPLEDGER_TWIN_UNARY(Log1P, arb_log1p)
DPLEDGER_TWIN_UNARY(Sqrt, arb_sqrt)
DPLEDGER_TWIN_UNARY(Cos, arb_cos)
DPLEDGER_TWIN_UNARY(Sin, arb_sin)
#undef DPLEDGER_TWIN_BINARY
#undef DPLEDGER_TWIN_UNARY
inline Ball operator-(const Ball& a) { return Ball(0.0) - a; }

// Whether every point of `a` is below every point of `b`.
inline bool CertainlyBelow(const Ball& a, const Ball& b) { return arb_lt(a.get(), b.get()); }

// Pr[N(0,1) > x].
inline Ball NormalTail(const Ball& x) {
  Ball result;
  arb_hypgeom_erfc(result.get(), (x / Sqrt(2.0)).get(), bits);
  return result / 2.0;
}

inline std::string ToString(const Ball& a) {
  char* text = arb_get_str(a.get(), 25, 0);
  std::string result = text;
  flint_free(text);
  return result;
}

class ComplexBall {
 public:
  ComplexBall() { acb_init(z_); }
  ComplexBall(const Ball& re, const Ball& im) : ComplexBall() {
    acb_set_arb_arb(z_, re.get(), im.get());
  }
  ComplexBall(const ComplexBall& other) : ComplexBall() { acb_set(z_, other.z_); }
  ComplexBall(ComplexBall&& other) noexcept : ComplexBall() { acb_swap(z_, other.z_); }
  ComplexBall& operator=(ComplexBall other) {
    acb_swap(z_, other.z_);
    return *this;
  }
  ~ComplexBall() { acb_clear(z_); }

  acb_ptr get() { return z_; }
  acb_srcptr get() const { return z_; }
  Ball Re() const {
    Ball result;
    arb_set(result.get(), acb_realref(z_));
    return result;
  }
  Ball Im() const {
    Ball result;
    arb_set(result.get(), acb_imagref(z_));
    return result;
  }
  Ball Modulus() const {
    Ball result;
    acb_abs(result.get(), z_, bits);
    return result;
  }
  // Widens by a disc of radius |by|.
  ComplexBall Widened(const Ball& by) const { return {Re().Widened(by), Im().Widened(by)}; }

 private:
  acb_t z_;
};

#define DPLEDGER_TWIN_BINARY(name, function)                            \
  inline ComplexBall name(const ComplexBall& a, const ComplexBall& b) { \
    ComplexBall result;                                                 \
    function(result.get(), a.get(), b.get(), bits);                     \
    return result;                                                      \
  }
#define DPLEDGER_TWIN_UNARY(name, function)       \
  inline ComplexBall name(const ComplexBall& a) { \
    ComplexBall result;                           \
    function(result.get(), a.get(), bits);        \
    return result;                                \
  }
DPLEDGER_TWIN_BINARY(operator+, acb_add)
DPLEDGER_TWIN_BINARY(operator-, acb_sub)
DPLEDGER_TWIN_BINARY(operator*, acb_mul)
DPLEDGER_TWIN_BINARY(operator/, acb_div)
DPLEDGER_TWIN_UNARY(Exp, acb_exp)
DPLEDGER_TWIN_UNARY(ExpM1, acb_expm1)
DPLEDGER_TWIN_UNARY(Log, acb_log)
DPLEDGER_TWIN_UNARY(Log1P, acb_log1p)
#undef DPLEDGER_TWIN_BINARY
#undef DPLEDGER_TWIN_UNARY

}  // namespace dpledger::twin
