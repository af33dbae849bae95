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

}  // namespace

std::string SchemeName(const SamplingScheme& scheme) { return std::visit(Namer{}, scheme.kind); }

}  // namespace dpledger::accountant
