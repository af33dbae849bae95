// The lower bound's discretisation. With r = P/Q and d(y) = E_Q[(r - y)_+], which is convex and
// gives the profile of both directions, a pair whose d is nowhere greater is at most as revealing
// (Blackwell). Here it is made piecewise linear with its kinks at the grid points y_j: the values
// d(y_j) are lowered by η_j so far that no chord is above d, and their greatest convex minorant is
// taken. Claim: pld/CLAIM.md, section 3.
#include <algorithm>
#include <cmath>

#include "accountant/numeric/rounding.h"
#include "accountant/pld/discrete_pair.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kFewRoundings = 16 * kUnitRoundoff;
// Above what is lost where products underflow.
constexpr double kUnderflow = 1e-280;
// The shares near an end vanish as s^4, which three Gauss points integrate to 2e-7 (Piece).
constexpr double kNearSlack = 1e-6;

// Masses with bounds on their errors. Negative ones are where the lowered values are not convex.
struct Masses {
  std::vector<double> mass, error;
  double step;

  // Takes the kink at j away: its mass goes to the points i < j < k so that P- and Q-mass stay.
  void Spread(size_t i, size_t j, size_t k) {
    const double left = static_cast<double>(j - i) * step,
                 right = static_cast<double>(k - j) * step;
    const double to_i = std::expm1(right) / std::expm1(left + right),
                 to_k = std::expm1(-left) / std::expm1(-(left + right));
    const double rounding = error[j] + kFewRoundings * std::fabs(mass[j]);
    mass[i] += mass[j] * to_i;
    error[i] += rounding * to_i + kFewRoundings * std::fabs(mass[i]);
    mass[k] += mass[j] * to_k;
    error[k] += rounding * to_k + kFewRoundings * std::fabs(mass[k]);
    mass[j] = error[j] = 0;
  }
};

}  // namespace

DiscretePair DiscretePair::Merged(double step, double remove_infinity, double add_infinity) {
  const double p = 1 - remove_infinity, q = 1 - add_infinity;
  DiscretePair pair;
  pair.step = step;
  pair.mass = {p * (1 - kFewRoundings)};
  pair.remove_infinity = remove_infinity;
  pair.add_infinity = add_infinity;
  if (p == q) return pair;
  const double log_p = std::log(p), log_q = std::log(q);
  pair.first_loss = log_p - log_q;
  pair.loss_error = kFewRoundings * (1 - log_p - log_q);
  return pair;
}

DiscretePair Shares::Lower() const {
  DiscretePair pair;
  pair.first_loss = first_loss_;
  pair.step = step_;
  pair.loss_error = loss_error_;
  pair.remove_infinity = std::fmax(0, remove_infinity_ * (1 - mass_error_ - kFewRoundings));
  pair.add_infinity = std::fmax(0, add_infinity_ * (1 - mass_error_ - kFewRoundings));
  const size_t n = exact_.size();
  pair.mass.assign(n, 0);
  const double h = step_, up = std::expm1(h), down = -std::expm1(-h);

  // The profile with a kink at every grid point: connect the dots, on the mass that is not cut
  // away. In a cell with ends y0, y1 the chord exceeds (r - y)_+, as a function of y, by at most (r
  // - y0) at y0 falling linearly to 0 at y1, and by at most (y1 - r) at y1 falling to 0 at y0. So
  // it is enough that each r, or a share θ of it, lowers d at y0, and the rest at y1 (`left` and
  // `right` of a point: by the cell above and the cell below it).
  std::vector<double> dots = exact_, error(n, 0), left(n, 0), right(n, 0);
  for (size_t j = 0; j < n; ++j) error[j] = kFewRoundings * exact_[j];
  for (size_t j = 0; j + 1 < n; ++j) {
    const double relative = error_[j] + kFewRoundings;
    dots[j] += low_[j];
    dots[j + 1] += high_[j];
    error[j] += relative * low_[j];
    error[j + 1] += relative * high_[j];
    left[j] = lower_left_[j] * (1 + kNearSlack + 2 * relative);
    right[j + 1] = lower_right_[j] * (1 + kNearSlack + 2 * relative);
  }

  // d at every point, and d(y) - (1 - y), from sums of positive terms.
  const double worst = *std::max_element(error_.begin(), error_.end()) +
                       4 * kUnitRoundoff * static_cast<double>(n + 16);
  std::vector<double> value(n, 0), mirrored(n, 0);
  double beyond = 0;  // Σ of masses above, discounted to the point
  for (size_t j = n - 1; j-- > 0;) {
    beyond = (dots[j + 1] + beyond) * (1 - down);
    value[j] = value[j + 1] + up * beyond;
  }
  double below = 0;
  for (size_t j = 1; j < n; ++j) {
    below = (dots[j - 1] + below) * (1 + up);
    mirrored[j] = mirrored[j - 1] + down * below;
  }
  // d must stay >= 0 and >= 1 - y: a point has room for a lowering by value and by mirrored. The
  // former always suffices for what the cell above asks, the latter for the cell below. A cell that
  // asks too much otherwise lowers one of its ends alone, by its whole share of the other.
  for (size_t j = 0; j + 1 < n; ++j) {
    const double room_left = mirrored[j] * (1 - worst), room_right = value[j + 1] * (1 - worst);
    if (left[j] <= room_left && right[j + 1] <= room_right) continue;
    const double outward = 1 + error_[j] + kFewRoundings;
    const double all_left = down * high_[j] * outward, all_right = up * low_[j] * outward;
    if (all_left <= room_left) {
      left[j] = all_left;
      right[j + 1] = 0;
    } else if (all_right <= room_right) {
      right[j + 1] = all_right;
      left[j] = 0;
    } else {
      return DiscretePair::Merged(step_, pair.remove_infinity, pair.add_infinity);
    }
  }
  std::vector<double> eta(n);
  for (size_t j = 0; j < n; ++j) eta[j] = std::fmax(left[j], right[j]);

  // Kinks of the lowered values.
  Masses kinks{std::vector<double>(n, 0), std::vector<double>(n, 0), h};
  const size_t first = 0, last = n - 1;
  for (size_t j = first; j <= last; ++j) {
    const double before = j > 0 ? eta[j - 1] : 0, after = j + 1 < n ? eta[j + 1] : 0;
    kinks.mass[j] = dots[j] - ((after - eta[j]) / up - (eta[j] - before) / down);
    const double size = dots[j] + (after + eta[j]) / up + (eta[j] + before) / down;
    kinks.error[j] = 2 * (error[j] + kFewRoundings * size) + kUnderflow;
  }

  // The greatest convex minorant: kinks of negative mass are taken away, from left to right with a
  // stack of those that stay.
  std::vector<size_t> stay = {first};
  for (size_t j = first + 1; j <= last; ++j) {
    while (j < last || stay.size() > 1) {
      const size_t at = stay.back();
      if (stay.size() > 1 && kinks.mass[at] < 0) {
        stay.pop_back();
        kinks.Spread(stay.back(), at, j);
        continue;
      }
      break;
    }
    if (j < last && kinks.mass[j] < 0) {
      kinks.Spread(stay.back(), j, j + 1);
    } else {
      stay.push_back(j);
    }
  }
  // The two ends may lack no more than rounding.
  for (const size_t end : {first, last})
    if (kinks.mass[end] < -kinks.error[end])
      return DiscretePair::Merged(step_, pair.remove_infinity, pair.add_infinity);
  for (const size_t j : stay) {
    pair.mass[j] = std::fmax(
        0, kinks.mass[j] * (1 - mass_error_ - kFewRoundings) - kinks.error[j] * (1 + mass_error_));
  }
  return pair;
}

}  // namespace dpledger::accountant::pld
