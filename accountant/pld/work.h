// The work of a question, and the part of its accuracy that cuts may take. Private to pld/.
//
// Work is counted in nanoseconds of one core of 2023 rather than timed, so that the same question
// has the same answer on every machine, however busy. Limits::max_grid_work says how much it may
// be.
#pragma once

#include <cstddef>

#include "accountant/mechanism/composition.h"
#include "accountant/pld/sketch.h"
#include "accountant/pld/steps.h"

namespace dpledger::accountant::pld {

// Of a product of two masses in a law of random allocation (allocation/cells.h).
inline constexpr double kWorkOfProduct = 3;

double WorkOf(const Discretised& made);
// Of transforms of `bins` for each of `losses`, and back.
double WorkOfComposing(size_t bins, size_t losses);

// Of laying all steps on a mesh, about: no more where the estimate holds.
double WorkOfMesh(const Steps& steps, const Sketch& sketch, double mesh);

// The mesh that is wanted, or a coarser one that takes a part of the limits: then something is
// known when time runs out. Not a number is no wish.
double FirstMesh(const Steps& steps, const Sketch& sketch, Direction direction,
                 const Sketch::Estimate& at, double window_tail, double wanted,
                 const Limits& limits);

// The tilted mass that Composed may let go beside the window.
double WindowTail(double relative_gap);
// The mass that may be cut from each step on either side, where δ is e^{log_delta}.
double TailMass(const Composition& composition, double log_delta);

}  // namespace dpledger::accountant::pld
