// A sum of shifted copies of one array, vectorised for the machine. Every element is added up in
// the order of the shifts, so every machine gives the same bits; with masses and values >= 0 the
// relative error is at most as many unit roundoffs as there are shifts, and one.
#pragma once

#include <cstddef>
#include <vector>

namespace dpledger::accountant {

struct Shift {
  ptrdiff_t place;
  double mass;
};

// out[i] += Σ_k mass_k · in[i + place_k], i < size. `in` reaches from the least place to size and
// the greatest one; it is not `out`.
void AddShifted(const std::vector<Shift>& shifts, const double* in, double* out, size_t size);

}  // namespace dpledger::accountant
