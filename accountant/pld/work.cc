#include "accountant/pld/work.h"

#include <algorithm>
#include <cmath>

#include "accountant/pld/window.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kWorkOfAtom = 900;  // on a step's grid, for both pairs
constexpr double kWorkOfBin = 20;    // in one transform, with what is read of it
// Bins that are composed in some ten milliseconds.
constexpr double kSoonComposed = 1 << 18;
// Losses farther apart than this are hardly one step's any more.
constexpr double kCoarsestMesh = 0.5;
// The share of δ that the tails of single steps may put at infinity: 1e-7/c of ε, far below any
// mesh error.
constexpr double kTailShare = 1e-7;

}  // namespace

double WorkOf(const Discretised& made) {
  double atoms = 0;
  for (const Discretised::Counted& pair : made.pairs)
    atoms += static_cast<double>(pair.upper.mass.size());
  return kWorkOfAtom * atoms + made.work;
}

double WorkOfComposing(size_t bins, size_t losses) {
  return kWorkOfBin * static_cast<double>(bins) * static_cast<double>(losses + 1);
}

double WorkOfMesh(const Steps& steps, const Sketch& sketch, double mesh) {
  return (kWorkOfAtom + steps.WorkOfTerms()) * sketch.Span() / mesh;
}

double FirstMesh(const Steps& steps, const Sketch& sketch, Direction direction,
                 const Sketch::Estimate& at, double window_tail, double wanted,
                 const Limits& limits) {
  const Window window =
      WindowOf([&](double s) { return sketch.At(direction, at.tilt + s).value - at.at.value; },
               at.at.mean, std::fmax(std::sqrt(at.at.variance), 1e-12), std::log(window_tail));
  const double bins = std::fmin(kSoonComposed, limits.max_grid_work / (16 * kWorkOfBin));
  double mesh = std::fmax(wanted, window.Width() / bins);
  mesh = std::fmax(mesh, 4 * WorkOfMesh(steps, sketch, 1) / limits.max_grid_work);
  if (!(mesh > 0 && std::isfinite(mesh))) mesh = 1e-3;
  // (Where the law of errors asks for no more, a coarse mesh is as good as any.)
  const double coarsest = std::fmax(steps.CoarsestMesh(), std::fmin(wanted, kCoarsestMesh));
  return std::clamp(mesh, 1e-14, std::fmax(1e-14, coarsest));
}

// The tilted mass let go beside the window moves δ by 10 to 1000 times as much.
double WindowTail(double relative_gap) {
  return std::clamp(1e-3 * relative_gap * relative_gap, 1e-13, 1e-9);
}

double TailMass(const Composition& composition, double log_delta) {
  return std::exp(std::fmax(-640.0, log_delta + std::log(kTailShare / composition.TotalCount())));
}

}  // namespace dpledger::accountant::pld
