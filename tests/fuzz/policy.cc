// Policies. What is read is written and read again as it was; nobody gets a right that no line
// names; and names of callers are escaped without loss.
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "identity/rights.h"
#include "tests/fuzz/target.h"
#include "tests/identity/policy_text.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace identity;
  const std::string_view input = Text(data, size);
  for (const auto& name : {TokenCallerName(input), SpiffeCallerName(input), DnsCallerName(input),
                           OidcCallerName("https://issuer", input)}) {
    if (name.ok()) FUZZ_CHECK(IsCallerName(*name));
  }
  (void)Resource::Of(input);
  const auto policy = ParsePolicy(input);
  if (!policy.ok()) return 0;
  const std::string text = PolicyText(*policy);
  const auto again = ParsePolicy(text);
  FUZZ_CHECK(again.ok() && PolicyText(*again) == text);
  Caller caller;
  caller.name = "token:a";
  caller.kind = CallerKind::kToken;
  for (const PolicyLine& line : *policy) {
    FUZZ_CHECK(line.prefix || IsCallerName(line.caller));
    FUZZ_CHECK(!line.Names(Caller()) || line.caller == kAnonymousName);
    if (line.Names(caller)) FUZZ_CHECK(caller.name.rfind(line.caller, 0) == 0);
    const auto grant = Grant::Parse(line.grant.ToText());
    FUZZ_CHECK(grant.ok() && *grant == line.grant);
  }
  return 0;
}

}  // namespace dpledger::fuzz
