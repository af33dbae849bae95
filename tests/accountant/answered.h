// Histories for every row of docs/mechanisms.md, with what is answered of each under each
// adjacency, and what its mechanism reveals there by enumeration (small_laws.h).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::testing {

inline constexpr std::array<Adjacency, 3> kAdjacencies = {
    Adjacency::kAddOrRemoveOne, Adjacency::kZeroOut, Adjacency::kReplaceOne};

struct Answered {
  std::string row;  // its first cell
  History history;
  // δ(ε) of the worst neighbours, whose data sets differ in so many records.
  std::function<double(Adjacency, double epsilon, size_t group)> truth;
  // In the order of kAdjacencies: the upper bound is at most so many times the truth; 0: refused.
  std::array<double, 3> factors;
  // Whether groups of two records are answered.
  std::array<bool, 3> groups = {false, false, false};
};

std::vector<Answered> AnsweredSchemes();
std::vector<Answered> AnsweredMechanisms();

}  // namespace dpledger::accountant::testing
