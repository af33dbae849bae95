#include "accountant/contour/shell.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::contour {
namespace {

constexpr size_t kGreatestNodes = size_t{1} << 17;
// A cut with this exponent or more has no weight: the power makes up for e^{kGreatestTerm} at most.
constexpr double kGreatestExponent = 1e5;
// e^v and its square must stay in the range of doubles.
constexpr double kGreatestBaseLoss = 300;
// kSlack is for roundings, in the logarithm of an integral that needs only a few digits: each
// exponent is off by a few roundings of its terms, which are at most kGreatestTerm.
constexpr double kUnderflow = -700;  // below this, as exponents, weights may be lost
constexpr double kSlack = 1e-6, kGreatestTerm = 9.8e4;

// Σ of terms, in eight lanes: relative error (size/8 + 8) u for terms of one sign.
class LaneSum {
 public:
  void Add(size_t i, double x) { lanes_[i % kLanes] += x; }
  double Total() const {
    double total = 0;
    for (const double lane : lanes_) total += lane;
    return total;
  }

 private:
  std::array<double, kLanes> lanes_ = {};
};

// log Σ e^{exponent}; overwrites.
double LogSumExp(std::vector<double>& exponents) {
  const double greatest = *std::max_element(exponents.begin(), exponents.end());
  if (!std::isfinite(greatest)) return std::isnan(greatest) ? kInfinity : greatest;
  for (double& x : exponents) x -= greatest;
  Exp(exponents, exponents);
  LaneSum sum;
  for (size_t i = 0; i < exponents.size(); ++i) sum.Add(i, exponents[i]);
  return greatest + std::log(sum.Total());
}

double LogSum(double a, double b) {
  const double greatest = std::fmax(a, b);
  return greatest == -kInfinity ? greatest
                                : greatest + std::log1p(std::exp(std::fmin(a, b) - greatest));
}

double RoundedTo24Bits(double h) {
  int exponent = 0;
  const double mantissa = std::frexp(h, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, 24)), exponent - 24);
}

}  // namespace

double PlaceOf(const Step& step, double loss) {
  return std::log1p(std::expm1(loss) / step.q) / step.mu + step.mu / 2;
}

Shell::Shell(const Step& step, const Window& window, double margin)
    : step_(step),
      window_(window),
      has_below_(window.low > -kInfinity),
      uncut_(!std::isfinite(window.high)),
      left_(-margin),
      right_(uncut_ ? margin : window.high + window.width * std::log(kGreatestExponent)),
      cell_(std::fmin(window.width / 4, 0.1)) {
  // So far away a cut is none: its exponent is below the range of doubles.
  if (uncut_) window_.high = right_ + 800 * window.width;
  const double wanted = std::ceil((right_ - left_) / cell_);
  if (!(wanted < static_cast<double>(kGreatestNodes))) return;  // Lay says so
  const size_t cells = static_cast<size_t>(wanted);
  right_ = left_ + static_cast<double>(cells) * cell_;
  const size_t size = cells + 1;
  edge_.resize(size);
  v_.resize(size);
  rise_.resize(size);
  x_high_.resize(size);
  x_low_.assign(size, 0);
  low_.assign(size, 0);
  for (size_t i = 0; i < size; ++i) {
    edge_[i] = left_ + static_cast<double>(i) * cell_;
    v_[i] = step_.mu * edge_[i] - step_.mu * step_.mu / 2;
    x_high_[i] = std::max(-800.0, (edge_[i] - window_.high) / window_.width);
    if (has_below_) low_[i] = (edge_[i] - window_.low) / window_.width;
    x_low_[i] = std::fmin(700, low_[i]);
  }
  Exp(v_, rise_);
  for (double& x : rise_) x *= step_.q;
  Exp(x_high_, x_high_);
  if (!has_below_) return;
  Exp(x_low_, x_low_);
  between_ = uncut_ ? 1 : -std::expm1(-(window_.high - window_.low) / window_.width);
}

// log(1 - e^{-share·d}), d = x_low - x_high = between·e^{low}, for each low; what underflows in d
// is its logarithm. Of low < -40 the rest of the series is below a unit roundoff.
void Shell::LogBetween(std::span<const double> low, std::span<const double> x_low, double share,
                       std::span<double> into) const {
  for (size_t i = 0; i < low.size(); ++i) into[i] = std::max(-700.0, -share * between_ * x_low[i]);
  ExpM1(into, into);
  for (double& x : into) x = std::max(1e-300, -x);
  Log(into, into);
  const double log_share = std::log(share) + std::log(between_);
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] < -40) into[i] = low[i] + log_share;
  }
}

double Shell::GreatestHeight() const {
  // For negative powers |1 + u| must rise with t at every height: cos(μη) >= 0.
  return kPi * std::fmin(0.475 * window_.width, (step_.add ? 0.49 : 0.95) / step_.mu);
}

double Shell::GreatestEnvelopeHeight() const { return (step_.add ? 0.25 : 0.49) * kPi / step_.mu; }

// log ∫_t^∞ φ |1+u|^power e^{-cosine·x}: past t the slope of the logarithm is at most
// max(power, 0)·μ - t - cosine·x/width, which falls.
double Shell::LogTail(bool below, double power, double t, double turn, double cosine) const {
  const double at = below ? window_.low : window_.high;
  const double x = std::exp(std::fmin(700, (t - at) / window_.width));
  const double fall = t + cosine * x / window_.width - std::fmax(0, power) * step_.mu;
  if (!(fall > 1)) return kInfinity;
  const double v = step_.mu * t - step_.mu * step_.mu / 2;
  // For negative powers the modulus counts from below.
  const double loss = std::log1p(
      step_.q * (power < 0 ? std::exp(v) * std::cos(turn) * (1 - 1e-12) - 1 : std::expm1(v)));
  return power * loss - t * t / 2 - cosine * x - kLogSqrtTwoPi - std::log(fall);
}

void Shell::Turn(double turn, std::vector<double>& log_square, std::vector<double>& angle) const {
  const size_t size = edge_.size();
  const double real = std::cos(turn), imaginary = std::sin(turn), rest = 1 - step_.q;
  std::vector<double> re(size), im(size);
  log_square.resize(size);
  angle.resize(size);
  for (size_t i = 0; i < size; ++i) {
    re[i] = rest + rise_[i] * real;
    im[i] = rise_[i] * imaginary;
    log_square[i] = re[i] * re[i] + im[i] * im[i];
  }
  Log(log_square, log_square);
  Atan2(im, re, angle);
}

// The greatest of log|1+u|^power on each cell.
std::vector<double> Shell::GreatestOnCells(double power,
                                           const std::vector<double>& log_square) const {
  std::vector<double> greatest(log_square.size() - 1);
  for (size_t i = 0; i < greatest.size(); ++i)
    greatest[i] = 0.5 * std::fmax(power * log_square[i], power * log_square[i + 1]);
  return greatest;
}

double Shell::Riemann(bool below, double power, const std::vector<double>& by_power,
                      const std::vector<double>& angle, double greatest_turn, double cosine,
                      double y) const {
  if (v_.back() > kGreatestBaseLoss || !(cosine > 0)) return kInfinity;
  const size_t cells = edge_.size() - 1;
  const bool shell = !below && has_below_;
  std::vector<double> terms(cells), risen(shell ? cells : 0);
  if (shell) {
    // 1 - e^{-cosine·(x_low - x_high)} at each cell's end, where it is greatest.
    LogBetween(std::span(low_).subspan(1), std::span(x_low_).subspan(1), cosine, risen);
  }
  const std::vector<double>& x = below ? x_low_ : x_high_;
  double greatest = 0;
  for (size_t i = 0; i < cells; ++i) {
    const double near = edge_[i] > 0 ? edge_[i] : std::fmin(0, edge_[i + 1]);
    const double by_angle = y * (y > 0 ? angle[i + 1] : angle[i]);
    terms[i] = by_power[i] + by_angle - 0.5 * near * near - std::fmin(cosine * x[i], 1e5) +
               (shell ? risen[i] : 0);
    greatest = std::max(greatest, std::fabs(by_power[i]) + std::fabs(by_angle));
  }
  if (!(greatest < kGreatestTerm)) return kInfinity;
  const double over = shell ? -std::log(cosine) : 0;
  const double right =
      LogTail(below, power, right_, greatest_turn, cosine) + std::fmax(0, y) * greatest_turn + over;
  const double cells_sum = LogSumExp(terms) + std::log(cell_) - kLogSqrtTwoPi + over;
  return kSlack + LogSum(cells_sum,
                         LogSum(LogLeft(below, power) + std::fmax(0, y) * angle[0] + over, right));
}

// log ∫_{-∞}^{left} φ |cut (1+u)^power|: there 1 - q <= |1+u| <= 1, and of a shell N_high - N_low
// <= x_low.
double Shell::LogLeft(bool below, double power) const {
  double left = LogNormalTail(-left_) + std::fmin(0, power) * std::log1p(-step_.q);
  if (has_below_ && !below) left += std::fmin(0, low_[0] * (1 - 1e-12));
  return left;
}

double Shell::LogIntegral(bool below, double power, double eta, double y) const {
  const double turn = step_.mu * eta;
  std::vector<double> log_square, angle;
  Turn(turn, log_square, angle);
  return eta * eta / 2 + Riemann(below, power, GreatestOnCells(power, log_square), angle, turn,
                                 std::cos(eta / window_.width), y);
}

double Shell::LogEnvelope(double power, double log_scale, double eta, double y, double digits,
                          double& nodes) const {
  const double turn = step_.mu * eta, cosine = std::cos(eta / window_.width);
  if (v_.back() > kGreatestBaseLoss || !(cosine > 0.01) || !(turn <= kPi / 2)) return kInfinity;
  // The strip about the line at height eta. On it the integrand's angle stays at least 0, and its
  // modulus is made of those at eta + strip and eta - strip (CLAIM.md).
  const double strip = 0.6 * std::fmin(0.5 * kPi / step_.mu - (step_.add ? eta : 0),
                                       std::fmin(kPi / step_.mu - eta, 0.5 * kPi * window_.width));
  std::vector<double> log_square, other, angle;
  Turn(step_.mu * (eta + strip), log_square, angle);
  Turn(step_.mu * (eta - strip), other, angle);
  // Each of the two moduli by itself: their product may be greatest inside of a cell.
  std::vector<double> moduli = GreatestOnCells(power, log_square);
  const std::vector<double> others = GreatestOnCells(power, other);
  for (size_t i = 0; i < moduli.size(); ++i) moduli[i] = 0.5 * (moduli[i] + others[i]);
  const double log_strip =
      strip * strip / 2 + Riemann(false, power, moduli, angle, step_.mu * (eta + strip),
                                  cosine * std::cos(strip / window_.width), 0);
  const double h =
      RoundedTo24Bits(2 * kPi * strip / std::fmax(3, log_strip - log_scale + digits + 0.75));
  const double first = std::floor(left_ / h), count = std::ceil(right_ / h) - first + 1;
  if (!(count > 0 && count < static_cast<double>(kGreatestNodes))) return kInfinity;
  nodes += count;
  const size_t size = static_cast<size_t>(count);
  std::vector<double> t(size), v(size), x(size), re(size), im(size), terms(size), error(size);
  for (size_t i = 0; i < size; ++i) {
    t[i] = (first + static_cast<double>(i)) * h;
    v[i] = step_.mu * t[i] - step_.mu * step_.mu / 2;
    x[i] = std::max(-800.0, (t[i] - window_.high) / window_.width);
  }
  Exp(v, v);
  Exp(x, x);
  const double rest = 1 - step_.q, real = step_.q * std::cos(turn),
               imaginary = step_.q * std::sin(turn);
  for (size_t i = 0; i < size; ++i) {
    re[i] = rest + v[i] * real;
    im[i] = v[i] * imaginary;
    terms[i] = re[i] * re[i] + im[i] * im[i];
  }
  Log(terms, terms);
  Atan2(im, re, im);
  const double shift = std::log(h) - kLogSqrtTwoPi - log_scale;
  for (size_t i = 0; i < size; ++i) {
    const double by_power = 0.5 * power * terms[i], by_angle = y * im[i];
    // The roundings of v carry over to the modulus and, relatively, to the angle.
    const double base = 4 * step_.mu * (std::fabs(t[i]) + step_.mu);
    error[i] = (std::fabs(power) + by_angle) * (16 + base) + 4 * std::fabs(by_power) +
               2 * t[i] * t[i] +
               cosine * x[i] * (8 + 4 * std::fabs(t[i] - window_.high) / window_.width) +
               4 * std::fabs(shift) + 16 + static_cast<double>(size) / 8;
    terms[i] = by_power - by_angle - 0.5 * t[i] * t[i] - std::fmin(cosine * x[i], 1e5) + shift;
  }
  Exp(terms, terms);
  LaneSum sum, errors;
  for (size_t i = 0; i < size; ++i) {
    sum.Add(i, terms[i]);
    if (terms[i] > 0) errors.Add(i, terms[i] * error[i]);
  }
  const double ends = std::exp(LogLeft(false, power) - log_scale) +
                      std::exp(LogTail(false, power, right_, turn, cosine) - log_scale);
  const double quadrature = 2 * std::exp(log_strip - log_scale) / std::expm1(2 * kPi * strip / h);
  const double total = sum.Total() + 1.01 * kUnitRoundoff * errors.Total() + ends + quadrature;
  return eta * eta / 2 + std::log(total) + 1e-15;
}

bool Shell::Lay(double h) {
  if (edge_.empty()) return false;
  h_ = RoundedTo24Bits(h);
  first_ = std::floor(left_ / h_);
  const double count = std::ceil(right_ / h_) - first_ + 1;
  if (!(count > 0 && count < static_cast<double>(kGreatestNodes))) return false;
  size_ = static_cast<size_t>(count);
  const size_t padded = Padded(size_);
  loss_.resize(padded);
  FillLoss(OnNodes(), loss_.data());
  time_.resize(size_);
  posterior_.resize(size_);
  log_shell_.resize(size_);
  shell_error_.resize(size_);
  std::vector<double> x(size_), risen(size_);
  for (size_t i = 0; i < size_; ++i) {
    const double t = time_[i] = (first_ + static_cast<double>(i)) * h_;
    posterior_[i] = step_.mu * t - step_.mu * step_.mu / 2 - loss_[i];
    x[i] = std::max(-800.0, (t - window_.high) / window_.width);
  }
  Exp(posterior_, posterior_);
  Exp(x, x);
  for (double& r : posterior_) r *= step_.q;
  // The exponent of the lower cut, and of `between` the error in unit roundoffs, relatively: that
  // of (high - low)/width times the derivative of the logarithm of 1 - e^{-(high - low)/width}.
  std::vector<double> x_low(has_below_ ? size_ : 0);
  double of_between = 0;
  if (has_below_) {
    std::vector<double> low(size_);
    for (size_t i = 0; i < size_; ++i) {
      low[i] = (time_[i] - window_.low) / window_.width;
      x_low[i] = std::fmin(700, low[i]);
    }
    Exp(x_low, x_low);
    LogBetween(low, x_low, 1, risen);
    if (!uncut_) {
      of_between = 4 * (std::fabs(window_.high) + std::fabs(window_.low)) / window_.width *
                   (1 - between_) / between_;
    }
  }
  for (size_t i = 0; i < size_; ++i) {
    const double t = time_[i], away = 8 + 4 * std::fabs(t - window_.high) / window_.width;
    const double cut = std::fmin(x[i], kGreatestExponent);
    // x_low - x_high relatively; 1 - e^{-d} is not worse conditioned than d.
    const double difference =
        has_below_ ? 16 + 4 * (std::fabs(t) + std::fabs(window_.low)) / window_.width + of_between
                   : 0;
    log_shell_[i] = risen[i] - cut - 0.5 * t * t;
    shell_error_[i] = 2 * t * t + (cut + 1) * away + difference + 4 * std::fabs(risen[i]);
  }
  if (!has_below_) return true;
  log_below_.resize(size_);
  below_error_.resize(size_);
  for (size_t i = 0; i < size_; ++i) {
    const double t = time_[i], cut = std::fmin(x_low[i], kGreatestExponent);
    log_below_[i] = -cut - 0.5 * t * t;
    below_error_[i] = 2 * t * t + (cut + 1) * (8 + 4 * std::fabs(t - window_.low) / window_.width);
  }
  return true;
}

CutSum Shell::At(bool below, double power, double eta, double y,
                 std::vector<double>* weights) const {
  const std::vector<double>& log_cut = below ? log_below_ : log_shell_;
  const std::vector<double>& cut_error = below ? below_error_ : shell_error_;
  std::vector<double> w(Padded(size_), 0);
  double greatest = -kInfinity;
  for (size_t i = 0; i < size_; ++i) {
    w[i] = power * loss_[i] + log_cut[i];
    greatest = std::max(greatest, w[i]);
  }
  for (size_t i = 0; i < size_; ++i) w[i] -= greatest;
  Exp({w.data(), size_}, {w.data(), size_});
  LaneSum weight, mean, square, size, weight_error, moment_error, loss_error;
  const double base = 10 * step_.mu;
  for (size_t i = 0; i < size_; ++i) {
    if (w[i] == 0) continue;
    const double l = loss_[i], al = std::fabs(l), wl = w[i] * l;
    const double dl = 12 * al + base * (std::fabs(time_[i]) + step_.mu) * posterior_[i];
    const double dw =
        w[i] * (8 + 2 * std::fabs(greatest) + cut_error[i] + std::fabs(power) * (4 * al + dl));
    weight.Add(i, w[i]);
    mean.Add(i, wl);
    square.Add(i, wl * l);
    size.Add(i, std::fabs(wl));
    weight_error.Add(i, dw);
    moment_error.Add(i, dw * al);
    loss_error.Add(i, w[i] * dl);
  }
  const double total = weight.Total(), unit = 1.1 * kUnitRoundoff / total;
  CutSum sum;
  sum.log = greatest + std::log(total * h_) - kLogSqrtTwoPi;
  sum.mean = mean.Total() / total;
  sum.square = square.Total() / total;
  sum.size = size.Total() / total;
  sum.weight_error = unit * weight_error.Total() +
                     kUnitRoundoff * (24 + static_cast<double>(size_) / 8 +
                                      4 * (std::fabs(greatest) + std::fabs(sum.log)));
  sum.moment_error = unit * moment_error.Total();
  sum.loss_error = unit * loss_error.Total();
  if (eta > 0) {
    sum.tail = std::exp(LogLeft(below, power) - sum.log) +
               std::exp(LogTail(below, power, right_, 0, 1) - sum.log) +
               std::exp(kUnderflow - sum.log);
    sum.quadrature =
        2 * std::exp(LogIntegral(below, power, eta, y) - sum.log) / std::expm1(2 * kPi * eta / h_);
  }
  if (weights != nullptr) {
    for (double& x : w) x /= total;
    *weights = std::move(w);
  }
  return sum;
}

}  // namespace dpledger::accountant::contour
