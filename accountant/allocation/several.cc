#include "accountant/allocation/several.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accountant/allocation/cells.h"
#include "accountant/allocation/doubling.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::allocation {
namespace {

constexpr uint64_t kMostContributions = 32;
constexpr double kMostError = 1e-3, kFaintMass = 1e-290;
// Each of at most 2·54 sums drops two ends.
constexpr double kTailParts = 512;
constexpr size_t kMostParts = 4096;

// A block of rounds. Its outcomes are in parts by ascending `loss`, about log(r_1 q + 1 - q) summed
// over its rounds, q = k/t. The values of a part are exact, however rough its loss is.
struct Block {
  double rounds;
  std::vector<double> loss, q;
  // mean[i·(k+1) + m], the mean over part i of e_m/C(rounds, m); 0 where m > rounds.
  std::vector<double> mean;
};

// C(a, l) C(b, m - l)/C(a + b, m): of m rounds of both blocks, l are in the first. Within 6ku.
double SharedOut(double a, double b, uint64_t l, uint64_t m) {
  double share = 1;
  for (uint64_t i = 0; i < m; ++i) {
    const double at = static_cast<double>(i);
    // Falling factorials of a and of b over that of a + b, and the binomial of m and l.
    share *= (i < l ? a - at : b - (at - static_cast<double>(l))) / (a + b - at);
    if (i < l) share *= static_cast<double>(m - i) / static_cast<double>(l - i);
    if (!(share > 0)) return 0;
  }
  return share;
}

class Several {
 public:
  Several(const Rounds& rounds, uint64_t contributions, double mesh, double tail)
      : t_(static_cast<double>(rounds.rounds)),
        k_(contributions),
        share_(static_cast<double>(contributions) / t_),
        mu_(rounds.distance),
        mesh_(mesh),
        tail_(tail) {}

  absl::StatusOr<Partition> Of(uint64_t rounds, const Limits& limits);

 private:
  Block One();
  Block SumOf(const Block& a, const Block& b, double copies);

  const double t_;
  const uint64_t k_;
  const double share_, mu_, mesh_, tail_;
  double log_error_ = 0;
  double mean_ = 0, variance_ = 0;  // of one round's loss: they lay grids, no more
};

Block Several::One() {
  const double end = std::fmax(1e-299, tail_ / (8 * t_));
  const double low = -NormalTailInverse(end), high = mu_ - low;
  const Cells cells = OneRound(Ratio{mu_, t_}, low, high, mesh_);
  const Atoms atoms = Merge(cells);
  log_error_ +=
      t_ * cells.relative_error + static_cast<double>(k_) * (cells.place_error + MergeError(cells));
  Block one{1, {}, atoms.q, std::vector<double>(atoms.q.size() * (k_ + 1), 0)};
  double square = 0;
  for (size_t i = 0; i < atoms.q.size(); ++i) {
    one.mean[i * (k_ + 1)] = 1;
    one.mean[i * (k_ + 1) + 1] = atoms.place[i];
    one.loss.push_back(std::log1p(share_ * (atoms.place[i] - 1)));
    mean_ += atoms.q[i] * one.loss[i];
    square += atoms.q[i] * one.loss[i] * one.loss[i];
  }
  variance_ = std::fmax(square - mean_ * mean_, 0);
  return one;
}

Block Several::SumOf(const Block& a, const Block& b, double copies) {
  Block sum{a.rounds + b.rounds, {}, {}, {}};
  const size_t n = k_ + 1;
  std::vector<double> shares(n * n, 0);
  for (uint64_t m = 0; m <= k_; ++m)
    for (uint64_t l = 0; l <= m; ++l) shares[m * n + l] = SharedOut(a.rounds, b.rounds, l, m);
  const double spread = std::sqrt(sum.rounds * variance_), middle = sum.rounds * mean_;
  const double least = a.loss.front() + b.loss.front();
  const double greatest = a.loss.back() + b.loss.back();
  std::vector<double> ends;
  for (double at = least; at < greatest && ends.size() < kMostParts;) {
    const double step = mesh_ * std::fmin(1, std::hypot(spread, (at - middle) / 3));
    at = std::fmax(NextUp(at), at + step);  // a step may be lost in rounding
    ends.push_back(at);
  }
  // The last part has all that is left.
  ends.push_back(std::fmax(greatest, ends.empty() ? greatest : ends.back()) + 1);
  std::vector<double> q(ends.size(), 0), loss(ends.size(), 0), mass(ends.size() * n, 0), run(n);
  for (size_t i = 0; i < a.q.size(); ++i) {
    const double place = a.loss[i];
    size_t part = static_cast<size_t>(
        std::upper_bound(ends.begin(), ends.end(), place + b.loss.front()) - ends.begin());
    double run_loss = 0;
    const auto store = [&] {
      q[part] += a.q[i] * run[0];
      loss[part] += a.q[i] * run_loss;
      for (uint64_t m = 1; m <= k_; ++m) {
        double both = 0;
        for (uint64_t l = 0; l <= m; ++l)
          both += shares[m * n + l] * a.mean[i * n + l] * run[m - l];
        mass[part * n + m] += a.q[i] * both;
      }
      std::fill(run.begin(), run.end(), 0);
      run_loss = 0;
    };
    for (size_t j = 0; j < b.q.size(); ++j) {
      const double at = place + b.loss[j];
      if (at >= ends[part]) {
        store();
        while (at >= ends[part]) ++part;
      }
      run[0] += b.q[j];
      run_loss += b.q[j] * at;
      for (uint64_t m = 1; m <= k_; ++m) run[m] += b.q[j] * b.mean[j * n + m];
    }
    store();
  }
  log_error_ += copies *
                (static_cast<double>(a.q.size() + b.q.size()) + 8 * static_cast<double>(k_) + 32) *
                kUnitRoundoff;
  // Ends that next to nothing reaches, with the record in as many of the rounds as may be.
  std::vector<double> weight(q.size(), 0);
  for (size_t i = 0; i < q.size(); ++i) {
    weight[i] = copies * q[i];
    for (uint64_t m = 1; m <= k_; ++m) weight[i] = std::fmax(weight[i], copies * mass[i * n + m]);
  }
  size_t first = 0, last = q.size();
  const double budget = tail_ / kTailParts;
  for (double cut = weight[first]; first + 1 < last && cut <= budget; cut += weight[first]) ++first;
  for (double cut = weight[last - 1]; first + 1 < last && cut <= budget; cut += weight[last - 1])
    --last;
  for (size_t i = first; i < last; ++i) {
    if (q[i] < kFaintMass) continue;
    sum.q.push_back(q[i]);
    sum.loss.push_back(loss[i] / q[i]);
    sum.mean.push_back(1);
    for (uint64_t m = 1; m <= k_; ++m) sum.mean.push_back(mass[i * n + m] / q[i]);
  }
  return sum;
}

absl::StatusOr<Partition> Several::Of(uint64_t rounds, const Limits& limits) {
  Block power = One(), sum{0, {}, {}, {}};
  for (uint64_t left = rounds;;) {
    if (power.q.empty() || log_error_ > kMostError) return Partition{};
    RETURN_IF_ERROR(limits.Check());
    if (left & 1) sum = sum.rounds > 0 ? SumOf(power, sum, 1) : power;
    left >>= 1;
    if (left == 0) break;
    power = SumOf(power, power, static_cast<double>(left));
  }
  Partition parts;
  for (size_t i = 0; i < sum.q.size(); ++i) {
    const double p = sum.q[i] * sum.mean[i * (k_ + 1) + k_];
    if (p < kFaintMass) continue;
    parts.p.push_back(p);
    parts.q.push_back(sum.q[i]);
  }
  parts.relative_error = 1.01 * log_error_ + 8 * kUnitRoundoff;
  return parts.relative_error < kMostError ? parts : Partition{};
}

}  // namespace

absl::StatusOr<Partition> LowerPartition(const Rounds& rounds, uint64_t contributions, double mesh,
                                         double tail, const Limits& limits) {
  const double end = NormalTailInverse(tail / (8 * static_cast<double>(rounds.rounds)));
  const double exponent =
      rounds.distance * (2 * end + rounds.distance) * static_cast<double>(contributions);
  if (contributions > kMostContributions || rounds.distance < kLeastDistance ||
      !(exponent < kGreatestLoss) || rounds.rounds > kMostRounds) {
    return Partition{};
  }
  return Several(rounds, contributions, mesh, tail).Of(rounds.rounds, limits);
}

}  // namespace dpledger::accountant::allocation
