#include "accountant/mechanism/traits.h"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace dpledger::accountant {
namespace {

// What a kind holds elsewhere, its parts apart. Kinds that hold nothing elsewhere can be copied
// byte by byte; any other has to say.
template <typename Kind>
requires std::is_trivially_copyable_v<Kind> size_t Elsewhere(const Kind&) { return 0; }
template <typename Kind>
requires requires(const Kind& kind) { kind.event; }
size_t Elsewhere(const Kind&) { return 0; }
size_t Elsewhere(const Composed&) { return 0; }
template <typename Element>
size_t Held(const std::vector<Element>& list) {
  return list.capacity() * sizeof(Element);
}
size_t Elsewhere(const Unsupported& m) { return m.description.capacity(); }
size_t Elsewhere(const MixtureOfGaussians& m) {
  return Held(m.sensitivities) + Held(m.sampling_probs);
}
size_t Elsewhere(const SingleEpochTreeAggregation& m) { return Held(m.step_counts); }
size_t Elsewhere(const MatrixMechanism& m) {
  const auto* toeplitz = std::get_if<ToeplitzEncoder>(&m.encoder);
  return toeplitz == nullptr ? 0 : Held(toeplitz->coefficients);
}
size_t Elsewhere(const RenyiCurve& m) { return Held(m.orders) + Held(m.epsilons); }

}  // namespace

Nature NatureOf(const Mechanism& mechanism) {
  return std::visit(
      []<typename Kind>(const Kind& kind) {
        Nature nature = Traits<Kind>::kNature;
        for (const Mechanism& part : Traits<Kind>::Parts(kind))
          nature = std::max(nature, NatureOf(part));
        return nature;
      },
      mechanism.kind);
}

size_t BytesOf(const Mechanism& mechanism) {
  return std::visit(
      []<typename Kind>(const Kind& kind) {
        size_t bytes = sizeof(Mechanism) + Elsewhere(kind);
        for (const Mechanism& part : Traits<Kind>::Parts(kind)) bytes += BytesOf(part);
        return bytes;
      },
      mechanism.kind);
}

}  // namespace dpledger::accountant
