// JWTs, key sets and the JSON under both, by the first byte. What is taken has one spelling of its
// base64url, and only a key of the set verifies a token.
#include "identity/jwt.h"

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/json_text.h"
#include "identity/base64url.h"
#include "identity/json.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

using namespace identity;

// RFC 7515, appendix A.3.
const KeySet& KnownKeys() {
  static const auto& keys = *new std::shared_ptr<const KeySet>(*KeySet::Parse(
      R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
      R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})"));
  return *keys;
}
constexpr std::string_view kSigned =
    "eyJhbGciOiJFUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
    "fQ";

void TryToken(std::string_view text) {
  const auto token = ParseJwt(text);
  if (!token.ok()) {
    FUZZ_CHECK(token.status().code() == absl::StatusCode::kUnauthenticated);
    return;
  }
  FUZZ_CHECK(text.size() <= kMaxJwtBytes);
  FUZZ_CHECK(text == absl::StrCat(token->signed_text, ".", Base64UrlEncode(token->signature)));
  // Nobody here has the private key: only the RFC's own token can verify.
  if (VerifySignature(*token, KnownKeys()).ok()) FUZZ_CHECK(token->signed_text == kSigned);
  (void)CheckClaims(*token, "joe", "dpledger", absl::FromUnixSeconds(1'300'000'000));
}

void TryKeys(std::string_view text) {
  const auto keys = KeySet::Parse(text);
  if (!keys.ok()) return;
  FUZZ_CHECK(!(*keys)->keys().empty());
  for (const VerifyingKey& key : (*keys)->keys()) {
    FUZZ_CHECK(key.key != nullptr);
    FUZZ_CHECK((*keys)->Has(key.fingerprint));
    if (key.kid.has_value()) FUZZ_CHECK((*keys)->Find(key.kid, key.algorithm) == &key);
  }
}

void TryJson(std::string_view text) {
  const auto json = Json::Parse(text);
  if (!json.ok() || json->string() == nullptr) return;
  const auto again = Json::Parse(JsonString(*json->string()));
  FUZZ_CHECK(again.ok() && *again->string() == *json->string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = Text(data, size);
  switch (TakeChoice(input) % 3) {
    case 0:
      TryToken(input);
      break;
    case 1:
      TryKeys(input);
      break;
    default:
      TryJson(input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
