// How long a C++ function may be, how many parameters it may have, and that a type is defined once.
// Functions and types are found by their braces, as the project's formatter lays them out; what
// looks like neither is passed over.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/rules.h"

namespace dpledger::tidy {

struct Function {
  std::string name;  // "grid.cc:Grid::Refine": the file's own name, since files move
  int line = 0;      // of the opening brace
  int lines = 0;     // from there to the closing brace
  int parameters = 0;
};
// The functions that `file` defines outside of other functions.
std::vector<Function> FunctionsOf(const SourceFile& file);

// A function that may be larger than others, and how large.
struct Bound {
  const char* name;
  int most;
};
constexpr int kMostLines = 70;
constexpr int kMostParameters = 6;

// Functions outside tests and benchmarks with more lines or parameters than that, except those of a
// list, which grow no further. What is within the limit may not stay on the list.
Complaints LongFunctions(const std::vector<SourceFile>& files, const std::vector<Bound>& listed);
Complaints WideFunctions(const std::vector<SourceFile>& files, const std::vector<Bound>& listed);

// Types of one qualified name in several files: a program that has two of them is undefined, and no
// compiler says so. Two files that are each other's alternative may be listed, as "a::B: x.cc
// y.cc".
Complaints TwiceDefined(const std::vector<SourceFile>& files,
                        const std::vector<std::string>& listed);

}  // namespace dpledger::tidy
