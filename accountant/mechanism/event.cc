#include "accountant/mechanism/event.h"

namespace dpledger::accountant {
namespace {

struct Namer {
  std::string operator()(const FullBatch&) const { return "full_batch"; }
  std::string operator()(const PoissonSampling&) const { return "poisson"; }
  std::string operator()(const FixedSizeSampling& fixed) const {
    return fixed.with_replacement ? "with_replacement" : "without_replacement";
  }
  std::string operator()(const DisjointBatches&) const { return "disjoint_batches"; }
  std::string operator()(const RandomAllocation&) const { return "random_allocation"; }
  std::string operator()(const TruncatedPoisson&) const { return "truncated_poisson"; }
};

struct Grouper {
  std::optional<Epoch> operator()(const FullBatch&) const { return std::nullopt; }
  std::optional<Epoch> operator()(const PoissonSampling&) const { return std::nullopt; }
  std::optional<Epoch> operator()(const FixedSizeSampling&) const { return std::nullopt; }
  std::optional<Epoch> operator()(const DisjointBatches& batches) const {
    return Epoch{batches.batches_per_epoch, batches.epoch};
  }
  std::optional<Epoch> operator()(const RandomAllocation& allocation) const {
    return Epoch{allocation.rounds_per_epoch, allocation.epoch};
  }
  std::optional<Epoch> operator()(const TruncatedPoisson&) const { return std::nullopt; }
};

}  // namespace

std::string SchemeName(const SamplingScheme& scheme) { return std::visit(Namer{}, scheme.kind); }

std::optional<Epoch> EpochOf(const SamplingScheme& scheme) {
  return std::visit(Grouper{}, scheme.kind);
}

}  // namespace dpledger::accountant
