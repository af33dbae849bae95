#include "identity/jwt.h"

#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "identity/base64url.h"
#include "identity/json.h"

namespace dpledger::identity {
namespace {

constexpr size_t kEs256Bytes = 64;
constexpr int kMaxDepth = 8;
constexpr double kLatestSeconds = 253402300799;  // the end of the year 9999

absl::Status Bad(absl::string_view what) {
  return absl::UnauthenticatedError(absl::StrCat("jwt: ", what));
}

absl::StatusOr<Json> ParsePart(std::string_view name, std::string_view base64) {
  const std::optional<std::string> bytes = Base64UrlDecode(base64);
  if (!bytes.has_value()) return Bad(absl::StrCat(ToAbsl(name), ": is not base64url"));
  absl::StatusOr<Json> json = Json::Parse(*bytes, kMaxDepth);
  if (!json.ok()) return Bad(absl::StrCat(ToAbsl(name), ": ", json.status().message()));
  if (json->object() == nullptr) return Bad(absl::StrCat(ToAbsl(name), ": is no JSON object"));
  return json;
}

absl::Status OptionalText(const Json& object, const char* name, std::optional<std::string>& text) {
  const Json* const member = object.Find(name);
  if (member == nullptr) return absl::OkStatus();
  if (member->string() == nullptr) return Bad(absl::StrCat(name, ": must be a string"));
  text = *member->string();
  return absl::OkStatus();
}

absl::Status OptionalTime(const Json& object, const char* name, std::optional<absl::Time>& time) {
  const Json* const member = object.Find(name);
  if (member == nullptr) return absl::OkStatus();
  const double* const seconds = member->number();
  if (seconds == nullptr || *seconds < 0 || *seconds > kLatestSeconds) {
    return Bad(absl::StrCat(name, ": must be seconds since 1970"));
  }
  time = absl::UnixEpoch() + absl::Seconds(*seconds);
  return absl::OkStatus();
}

absl::Status ReadAudiences(const Json& payload, std::vector<std::string>& audiences) {
  const Json* const aud = payload.Find("aud");
  if (aud == nullptr) return absl::OkStatus();
  if (aud->string() != nullptr) {
    audiences.push_back(*aud->string());
    return absl::OkStatus();
  }
  if (aud->array() == nullptr) return Bad("aud: must be a string or a list of strings");
  for (const Json& item : *aud->array()) {
    if (item.string() == nullptr) return Bad("aud: must be a string or a list of strings");
    audiences.push_back(*item.string());
  }
  return absl::OkStatus();
}

absl::Status ReadHeader(const Json& header, ParsedJwt& token) {
  std::optional<std::string> algorithm;
  RETURN_IF_ERROR(OptionalText(header, "alg", algorithm));
  if (algorithm == AlgorithmName(JwtAlgorithm::kRs256)) {
    token.algorithm = JwtAlgorithm::kRs256;
  } else if (algorithm == AlgorithmName(JwtAlgorithm::kEs256)) {
    token.algorithm = JwtAlgorithm::kEs256;
  } else {
    return Bad("alg: must be RS256 or ES256");
  }
  if (header.Find("crit") != nullptr) return Bad("crit: no extension is understood");
  return OptionalText(header, "kid", token.kid);
}

absl::Status ReadPayload(const Json& payload, ParsedJwt& token) {
  RETURN_IF_ERROR(OptionalText(payload, "iss", token.issuer));
  RETURN_IF_ERROR(OptionalText(payload, "sub", token.subject));
  RETURN_IF_ERROR(ReadAudiences(payload, token.audiences));
  RETURN_IF_ERROR(OptionalTime(payload, "exp", token.expires));
  RETURN_IF_ERROR(OptionalTime(payload, "nbf", token.not_before));
  return OptionalTime(payload, "iat", token.issued);
}

// JOSE's r and s as the DER that OpenSSL verifies (RFC 7518, section 3.4). Empty on failure.
std::string DerSignature(const std::string& r_and_s) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(r_and_s.data());
  const std::unique_ptr<ECDSA_SIG, void (*)(ECDSA_SIG*)> signature(ECDSA_SIG_new(), ECDSA_SIG_free);
  BIGNUM* const r = BN_bin2bn(bytes, kEs256Bytes / 2, nullptr);
  BIGNUM* const s = BN_bin2bn(bytes + kEs256Bytes / 2, kEs256Bytes / 2, nullptr);
  if (signature == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return "";
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  const auto free = absl::MakeCleanup([&der] { OPENSSL_free(der); });
  return size <= 0 ? ""
                   : std::string(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
}

bool Verifies(EVP_PKEY* key, const std::string& signature, const std::string& text) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  // 0 is a wrong signature, and -1 one that is none: only 1 is good.
  const bool good =
      context != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

absl::StatusOr<ParsedJwt> ParseJwt(std::string_view text) {
  if (text.size() > kMaxJwtBytes) return Bad("is longer than 8 KiB");
  const size_t first = text.find('.');
  const size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos || text.find('.', second + 1) != text.npos) {
    return Bad("must have two dots");
  }
  ParsedJwt token;
  token.signed_text = std::string(text.substr(0, second));
  std::optional<std::string> signature = Base64UrlDecode(text.substr(second + 1));
  if (!signature.has_value()) return Bad("signature: is not base64url");
  token.signature = *std::move(signature);
  ASSIGN_OR_RETURN(const Json header, ParsePart("header", text.substr(0, first)));
  ASSIGN_OR_RETURN(const Json payload,
                   ParsePart("payload", text.substr(first + 1, second - first - 1)));
  RETURN_IF_ERROR(ReadHeader(header, token));
  RETURN_IF_ERROR(ReadPayload(payload, token));
  return token;
}

absl::StatusOr<const VerifyingKey*> VerifySignature(const ParsedJwt& token, const KeySet& keys) {
  const VerifyingKey* const key = keys.Find(token.kid, token.algorithm);
  if (key == nullptr) {
    return Bad(token.kid.has_value() ? "kid: no key has it"
                                     : "kid: is missing, and not exactly one key fits");
  }
  if (key->algorithm != token.algorithm) return Bad("alg: is not the one of the key");
  std::string signature = token.signature;
  if (token.algorithm == JwtAlgorithm::kEs256) {
    if (signature.size() != kEs256Bytes) return Bad("signature: must be 64 bytes");
    signature = DerSignature(signature);
  }
  if (!Verifies(key->key.get(), signature, token.signed_text)) return Bad("signature: is wrong");
  return key;
}

absl::Status CheckClaims(const ParsedJwt& token, std::string_view issuer, std::string_view audience,
                         absl::Time now) {
  if (!token.issuer.has_value() || *token.issuer != issuer) {
    return Bad("iss: is not the one that is trusted");
  }
  if (std::find(token.audiences.begin(), token.audiences.end(), audience) ==
      token.audiences.end()) {
    return Bad("aud: is not for this server");
  }
  if (!token.expires.has_value()) return Bad("exp: is missing");
  if (now >= *token.expires) return Bad("exp: has passed");
  if (token.not_before.has_value() && now + kJwtLeeway < *token.not_before) {
    return Bad("nbf: is in the future");
  }
  if (token.issued.has_value() && now + kJwtLeeway < *token.issued) {
    return Bad("iat: is in the future");
  }
  if (!token.subject.has_value() || token.subject->empty()) return Bad("sub: is missing");
  return absl::OkStatus();
}

}  // namespace dpledger::identity
