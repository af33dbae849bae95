// The fields that "How to DP-fy ML" (Ponomareva et al. 2023, section 5.3.3) asks a publication to
// state, filled with what the server knows. What nobody has said stays open (NOT_STATED), with the
// words what is missing and who could say it. Functions; thread safe.
#pragma once

#include <string>
#include <vector>

#include "server/statement/facts.h"

namespace dpledger::server::statement {

// "projects/p/ledgers/adult: 2,036 entries"
std::string TitleOf(const Facts& facts);

// In the order of the paper's list; every field has a name of its own.
std::vector<v1::Statement::Section> SectionsOf(const Facts& facts);

}  // namespace dpledger::server::statement
