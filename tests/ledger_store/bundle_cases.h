// Bundles good and bad, each with what every verifier must say of it. The two verifiers are held to
// the same list.
#pragma once

#include <string>
#include <vector>

namespace dpledger::bundle {

struct BundleCase {
  std::string name;
  std::string bundle;
  std::string difference_class;  // empty: it is accepted
  std::string message;           // a part of ours
  std::vector<int> trusted;      // numbers of sample keys; empty: the bundle's own
  std::string older;             // a note that the auditor holds; empty: none
};

std::vector<BundleCase> BundleCases();

}  // namespace dpledger::bundle
