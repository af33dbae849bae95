// The file of tokens. What is read is written and read again as it was, and what administrators do
// to it keeps it readable.
#include "identity/token.h"
#include "identity/token_table.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace identity;
  const std::string_view input = Text(data, size);
  if (IsToken(input)) FUZZ_CHECK(input.size() == kTokenBytes);
  auto table = TokenTable::Parse(input);
  if (!table.ok()) return 0;
  const std::string text = table->ToText();
  const auto again = TokenTable::Parse(text);
  FUZZ_CHECK(again.ok() && again->ToText() == text);
  for (const TokenRecord& token : again->tokens) {
    FUZZ_CHECK(IsCallerName(*TokenCallerName(token.name)));
  }

  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  TokenRecord added;
  added.name = "fuzz";
  added.hash = HashOf("fuzz");
  added.grants.resize(1);
  (void)table->Create(added, now);
  (void)table->Rotate("a", HashOf("next"), now + absl::Hours(1), absl::Minutes(1), now);
  (void)table->Revoke("b", now);
  FUZZ_CHECK(TokenTable::Parse(table->ToText()).ok());
  return 0;
}

}  // namespace dpledger::fuzz
