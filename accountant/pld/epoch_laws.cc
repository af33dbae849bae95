#include "accountant/pld/epoch_laws.h"

#include <utility>

#include "accountant/pld/work.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Tails are cut so far below what matters that as much again, a few times, is not seen.
constexpr double kTailsAlike = 4;

using allocation::RatioLaw;
using SharedLaw = std::shared_ptr<const RatioLaw>;

double ProductsOf(const SharedLaw& law) { return law->products; }
template <typename Value>
double ProductsOf(const Value& value) {
  return value.products;
}

absl::StatusOr<SharedLaw> Shared(absl::StatusOr<RatioLaw> law) {
  RETURN_IF_ERROR(law.status());
  return std::make_shared<const RatioLaw>(*std::move(law));
}

}  // namespace

template <typename Found, typename Make>
absl::StatusOr<Found> EpochLaws::Get(Entries<Found>& entries, const Asked& asked,
                                     const Make& make) {
  // The coarsest that will do: others have more atoms.
  const Entry<Found>* best = nullptr;
  for (const Entry<Found>& entry : entries) {
    const Asked& had = entry.asked;
    if (had.rounds == asked.rounds && had.epsilon == asked.epsilon && had.mesh <= asked.mesh &&
        had.tail <= kTailsAlike * asked.tail && (best == nullptr || had.mesh > best->asked.mesh)) {
      best = &entry;
    }
  }
  if (best != nullptr) return best->found;
  ASSIGN_OR_RETURN(Found found, make());
  work_ += kWorkOfProduct * ProductsOf(found);
  entries.push_back({asked, found});
  return found;
}

absl::StatusOr<SharedLaw> EpochLaws::Upper(const allocation::Rounds& rounds, double mesh,
                                           double tail, const Limits& limits) {
  return Get(upper_, {rounds, mesh, tail},
             [&] { return Shared(allocation::UpperLaw(rounds, mesh, tail, limits)); });
}

absl::StatusOr<SharedLaw> EpochLaws::Lower(const allocation::Rounds& rounds, double mesh,
                                           double tail, const Limits& limits) {
  return Get(lower_, {rounds, mesh, tail},
             [&] { return Shared(allocation::LowerLaw(rounds, mesh, tail, limits)); });
}

absl::StatusOr<allocation::ReplacedAbove> EpochLaws::DeltaAbove(const allocation::Rounds& rounds,
                                                                double epsilon, double mesh,
                                                                double tail, const Limits& limits) {
  return Get(above_, {rounds, mesh, tail, epsilon},
             [&] { return allocation::DeltaAbove(rounds, epsilon, mesh, tail, limits); });
}

absl::StatusOr<allocation::ReplacedBelow> EpochLaws::DeltaBelow(const allocation::Rounds& rounds,
                                                                double epsilon, double mesh,
                                                                double tail, const Limits& limits) {
  return Get(below_, {rounds, mesh, tail, epsilon},
             [&] { return allocation::DeltaBelow(rounds, epsilon, mesh, tail, limits); });
}

}  // namespace dpledger::accountant::pld
