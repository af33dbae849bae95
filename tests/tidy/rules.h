// The habits that a machine can check, as rules over source files: each returns what it has to
// complain about.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/targets.h"

namespace dpledger::tidy {

struct SourceFile {
  std::string path;  // from the root, with slashes
  std::string text;
};

// The project's sources and Markdown files below `root`, by path: in every folder that git lists.
std::vector<SourceFile> ReadSources(const std::string& root);

bool IsCode(const SourceFile& file);    // C++ and C
bool IsScript(const SourceFile& file);  // TypeScript, JavaScript, style sheets, Python

// A file includes only headers of its own target and of those that the target names in DEPS; and
// each third-party library only where it belongs. Tests and benchmarks may include what they test.
Complaints IncludeDirections(const SourceFile& file, const Targets& targets);

// Calls that have a safer form, marks of unfinished work, exceptions in libraries.
Complaints BannedWords(const SourceFile& file);

// The page's sources and Python are at most 100 columns wide. (C++ is clang-format's.)
Complaints Columns(const SourceFile& file);

// A header says first what it is for, and is guarded.
Complaints HeaderShape(const SourceFile& file);

// Nine files in ten are under 400 lines, and none is over 800.
Complaints FileSizes(const std::vector<SourceFile>& files);

// Every folder of the accountant that answers a question has its CLAIM.md.
Complaints MissingClaims(const std::vector<SourceFile>& files);

// What a CLAIM.md calls by a name in backticks is there, in the accountant's code: a claim says
// where each of its lines is, and goes stale when the code is renamed.
Complaints StaleClaims(const std::vector<SourceFile>& files);

// docs/architecture.md, held true: a comment `<!-- files that match: PATTERN -->` stands before the
// list of exactly those files of the product that match (tests, docs, benchmarks and examples are
// left out, and so is the file's own folder where the pattern names it), and every path in
// backticks is there.
Complaints WrongPlaces(const SourceFile& doc, const std::vector<SourceFile>& files);

}  // namespace dpledger::tidy
