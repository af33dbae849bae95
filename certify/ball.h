// Numbers as balls (Johansson 2017, "Arb: efficient arbitrary-precision midpoint-radius interval
// arithmetic"): each operation contains its exact result, whatever is rounded.
#pragma once

#include <acb.h>
#include <arb.h>
#include <arb_hypgeom.h>

#include <string>
#include <utility>

namespace dpledger::certify {

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
  Ball(double x) : Ball() { arb_set_d(x_, x); }  // NOLINT: exactly x, NaN and infinities too
  explicit Ball(arb_srcptr x) : Ball() { arb_set(x_, x); }
  Ball(const Ball& other) : Ball(other.x_) {}
  Ball(Ball&& other) noexcept : Ball() { arb_swap(x_, other.x_); }
  Ball& operator=(Ball other) {
    arb_swap(x_, other.x_);
    return *this;
  }
  ~Ball() { arb_clear(x_); }

  arb_ptr get() { return x_; }
  arb_srcptr get() const { return x_; }
  double Middle() const { return arf_get_d(arb_midref(x_), ARF_RND_NEAR); }
  bool IsFinite() const { return arb_is_finite(x_); }
  // The ball's ends, as balls without width.
  Ball Least() const { return End(arb_get_lbound_arf); }
  Ball Greatest() const { return End(arb_get_ubound_arf); }
  // Wider by the greatest size that `by` may have.
  Ball Widened(const Ball& by) const {
    Ball result(*this);
    arb_add_error(result.x_, by.x_);
    return result;
  }
  std::string Text() const {
    char* text = arb_get_str(x_, 12, ARB_STR_NO_RADIUS);
    std::string result = text;
    flint_free(text);
    return result;
  }
  // As no other ball is written.
  std::string Exactly() const {
    char* text = arb_dump_str(x_);
    std::string result = text;
    flint_free(text);
    return result;
  }

 private:
  Ball End(void (*bound)(arf_t, const arb_t, slong)) const {
    Ball result;
    bound(arb_midref(result.x_), x_, bits);
    return result;
  }
  arb_t x_;
};

class Complex {
 public:
  Complex() { acb_init(z_); }
  Complex(const Ball& re, const Ball& im) : Complex() { acb_set_arb_arb(z_, re.get(), im.get()); }
  Complex(const Ball& re) : Complex(re, 0.0) {}  // NOLINT: every real number is one
  Complex(double re) : Complex(Ball(re)) {}      // NOLINT
  explicit Complex(acb_srcptr z) : Complex() { acb_set(z_, z); }
  Complex(const Complex& other) : Complex(other.z_) {}
  Complex(Complex&& other) noexcept : Complex() { acb_swap(z_, other.z_); }
  Complex& operator=(Complex other) {
    acb_swap(z_, other.z_);
    return *this;
  }
  ~Complex() { acb_clear(z_); }

  acb_ptr get() { return z_; }
  acb_srcptr get() const { return z_; }
  Ball Re() const { return Ball(acb_realref(z_)); }
  Ball Im() const { return Ball(acb_imagref(z_)); }
  bool MayBeZero() const { return acb_contains_zero(z_); }
  Complex Widened(const Ball& by) const { return {Re().Widened(by), Im().Widened(by)}; }

 private:
  acb_t z_;
};

#define DPLEDGER_BINARY(Type, name, function)       \
  inline Type name(const Type& a, const Type& b) {  \
    Type result;                                    \
    function(result.get(), a.get(), b.get(), bits); \
    return result;                                  \
  }
#define DPLEDGER_UNARY(Result, Type, name, function) \
  inline Result name(const Type& a) {                \
    Result result;                                   \
    function(result.get(), a.get(), bits);           \
    return result;                                   \
  }
DPLEDGER_BINARY(Ball, operator+, arb_add)
DPLEDGER_BINARY(Ball, operator-, arb_sub)
DPLEDGER_BINARY(Ball, operator*, arb_mul)
DPLEDGER_BINARY(Ball, operator/, arb_div)
DPLEDGER_BINARY(Ball, Min, arb_min)
DPLEDGER_BINARY(Ball, Max, arb_max)
DPLEDGER_BINARY(Ball, Hull, arb_union)
DPLEDGER_UNARY(Ball, Ball, Exp, arb_exp)
DPLEDGER_UNARY(Ball, Ball, ExpM1, arb_expm1)
DPLEDGER_UNARY(Ball, Ball, Log, arb_log)
DPLEDGER_UNARY(Ball, Ball, Log1P, arb_log1p)
DPLEDGER_UNARY(Ball, Ball, Sqrt, arb_sqrt)
DPLEDGER_UNARY(Ball, Ball, Cos, arb_cos)
DPLEDGER_UNARY(Ball, Ball, ErrorFunctionComplement, arb_hypgeom_erfc)
DPLEDGER_UNARY(Ball, Complex, Modulus, acb_abs)
DPLEDGER_BINARY(Complex, operator+, acb_add)
DPLEDGER_BINARY(Complex, operator-, acb_sub)
DPLEDGER_BINARY(Complex, operator*, acb_mul)
DPLEDGER_BINARY(Complex, operator/, acb_div)
DPLEDGER_UNARY(Complex, Complex, Exp, acb_exp)
DPLEDGER_UNARY(Complex, Complex, Log, acb_log)
DPLEDGER_UNARY(Complex, Complex, Log1P, acb_log1p)
DPLEDGER_UNARY(Complex, Complex, Sinc, acb_sinc)
#undef DPLEDGER_BINARY
#undef DPLEDGER_UNARY
inline Ball operator-(const Ball& a) { return Ball(0.0) - a; }
inline Complex operator-(const Complex& a) { return Complex() - a; }
inline Ball Pi() {
  Ball result;
  arb_const_pi(result.get(), bits);
  return result;
}

// Whether it holds for every point of both.
inline bool CertainlyLess(const Ball& a, const Ball& b) { return arb_lt(a.get(), b.get()); }
inline bool CertainlyAtMost(const Ball& a, const Ball& b) { return arb_le(a.get(), b.get()); }
inline bool CertainlyPositive(const Ball& a) { return arb_is_positive(a.get()); }

// Pr[N(0, 1) > x].
inline Ball NormalTail(const Ball& x) { return ErrorFunctionComplement(x / Sqrt(2.0)) / 2.0; }

}  // namespace dpledger::certify
