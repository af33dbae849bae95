// Asks the accountant for one Gaussian of noise multiplier 1, and compares with the closed form.
#include <dpledger/accountant.h>

#include <cmath>
#include <cstdio>

namespace {

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
double Delta(double epsilon) {
  return Phi(0.5 - epsilon) - std::exp(epsilon) * Phi(-0.5 - epsilon);
}

}  // namespace

int main() {
  namespace accountant = dpledger::accountant;
  accountant::History history;
  accountant::Round round;
  round.queries.push_back({"all", 1.0, 1.0});
  history.Add("trainer", accountant::RoundsEvent{round, 1});
  const auto composition = accountant::Resolve(history, accountant::Adjacency::kAddOrRemoveOne);
  if (!composition.ok()) return 1;
  const auto answer = accountant::ComputeEpsilon(*composition, 1e-5, {});
  if (!answer.ok()) return 2;
  const accountant::Interval epsilon = answer->value;
  std::printf("epsilon %.6f\n", epsilon.upper());
  return Delta(epsilon.lower()) >= 1e-5 * (1 - 1e-9) && Delta(epsilon.upper()) <= 1e-5 * (1 + 1e-9)
             ? 0
             : 3;
}
