// What is claimed of δ(ε), proved or refuted.
#pragma once

#include <optional>
#include <string>

#include "certify/composition.h"
#include "certify/selection.h"

namespace dpledger::certify {

enum class Verdict { kProved, kRefuted, kOpen };
struct Finding {
  Verdict verdict = Verdict::kOpen;
  std::string words;
};

// An interval for ε at one δ, or for δ at one ε.
struct Claim {
  enum class About { kEpsilon, kDelta };
  About about = About::kEpsilon;
  double given = 0;  // the δ, or the ε
  double lower = 0, upper = 0;
  std::optional<Trials> trials;  // of the best of so many runs; else of all that the events say

  // How close what encloses a loss is to be at the first try (turn 0), and at later ones: four
  // times the places each.
  Closeness ClosenessAt(int turn) const;
};

// That the upper end is at least the truth; that the lower end is at most the truth.
Finding CheckUpper(const Claimed& history, const Claim& claim);
Finding CheckLower(const Claimed& history, const Claim& claim);

}  // namespace dpledger::certify
