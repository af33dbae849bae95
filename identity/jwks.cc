#include "identity/jwks.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "identity/base64url.h"
#include "identity/json.h"
#include "identity/token.h"

namespace dpledger::identity {
namespace {

constexpr size_t kMaxFileBytes = 256 * 1024, kMaxKeys = 100, kMaxKidBytes = 256;
constexpr int kMinRsaBits = 2048, kMaxRsaBits = 8192;
constexpr size_t kCoordinateBytes = 32;

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bignum = std::unique_ptr<BIGNUM, Freer<BN_free>>;

Bignum ToBignum(const std::string& bytes) {
  return Bignum(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

absl::StatusOr<const std::string*> TextOf(const Json& jwk, const char* name) {
  const Json* const member = jwk.Find(name);
  if (member == nullptr) return FieldError(name, "is missing");
  if (member->string() == nullptr) return FieldError(name, "must be a string");
  return member->string();
}

absl::StatusOr<std::string> BytesOf(const Json& jwk, const char* name) {
  ASSIGN_OR_RETURN(const std::string* const text, TextOf(jwk, name));
  std::optional<std::string> bytes = Base64UrlDecode(*text);
  if (!bytes.has_value() || bytes->empty()) {
    return FieldError(name, "must be base64url without padding");
  }
  return *std::move(bytes);
}

// Null if OpenSSL does not take the parameters.
std::shared_ptr<EVP_PKEY> KeyFrom(const char* type, OSSL_PARAM_BLD* builder) {
  const std::unique_ptr<OSSL_PARAM, Freer<OSSL_PARAM_free>> parameters(
      OSSL_PARAM_BLD_to_param(builder));
  const std::unique_ptr<EVP_PKEY_CTX, Freer<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters != nullptr && context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1) {
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get());
  }
  ERR_clear_error();
  return {key, EVP_PKEY_free};
}
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freer<OSSL_PARAM_BLD_free>>;

absl::StatusOr<std::shared_ptr<EVP_PKEY>> RsaKey(const Json& jwk) {
  ASSIGN_OR_RETURN(const std::string n_bytes, BytesOf(jwk, "n"));
  ASSIGN_OR_RETURN(const std::string e_bytes, BytesOf(jwk, "e"));
  const Bignum n = ToBignum(n_bytes), e = ToBignum(e_bytes);
  const int bits = BN_num_bits(n.get());
  if (bits < kMinRsaBits || bits > kMaxRsaBits || !BN_is_odd(n.get())) {
    return FieldError("n", absl::StrCat("must be odd and have ", kMinRsaBits, " to ", kMaxRsaBits,
                                        " bits, got ", bits));
  }
  if (BN_num_bits(e.get()) > 32 || !BN_is_odd(e.get()) || BN_get_word(e.get()) < 65537) {
    return FieldError("e", "must be odd and from 65537 to 2^32");
  }
  const Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  std::shared_ptr<EVP_PKEY> key = KeyFrom("RSA", builder.get());
  if (key == nullptr) return FieldError("n", "is no RSA key");
  return key;
}

absl::StatusOr<std::shared_ptr<EVP_PKEY>> EcKey(const Json& jwk) {
  std::string point(1, '\x04');
  for (const char* name : {"x", "y"}) {
    ASSIGN_OR_RETURN(const std::string bytes, BytesOf(jwk, name));
    if (bytes.size() != kCoordinateBytes) return FieldError(name, "must be 32 bytes");
    point += bytes;
  }
  const Builder builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  std::shared_ptr<EVP_PKEY> key = KeyFrom("EC", builder.get());
  if (key == nullptr) return FieldError("x", "must be a point of P-256, with y");
  return key;
}

Sha256Hash FingerprintOf(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  const auto free = absl::MakeCleanup([&der] { OPENSSL_free(der); });
  return HashOf({reinterpret_cast<const char*>(der), static_cast<size_t>(std::max(size, 0))});
}

// The algorithm that the key is for; nullopt: none that we use.
absl::StatusOr<std::optional<JwtAlgorithm>> AlgorithmOf(const Json& jwk) {
  ASSIGN_OR_RETURN(const std::string* const kty, TextOf(jwk, "kty"));
  for (const char* secret : {"d", "p", "q", "k"}) {
    if (jwk.Find(secret) != nullptr) {
      return FieldError(secret, "is part of a secret key, which must not be in this file");
    }
  }
  std::optional<JwtAlgorithm> algorithm;
  if (*kty == "RSA") {
    algorithm = JwtAlgorithm::kRs256;
  } else if (*kty == "EC") {
    ASSIGN_OR_RETURN(const std::string* const curve, TextOf(jwk, "crv"));
    if (*curve == "P-256") algorithm = JwtAlgorithm::kEs256;
  }
  const auto is_not = [&](const char* name, std::string_view wanted) {
    const Json* const member = jwk.Find(name);
    return member != nullptr && (member->string() == nullptr || *member->string() != wanted);
  };
  if (algorithm.has_value() && (is_not("use", "sig") || is_not("alg", AlgorithmName(*algorithm)))) {
    return std::nullopt;
  }
  if (const Json* const operations = jwk.Find("key_ops"); operations != nullptr) {
    const Json::Array* const list = operations->array();
    if (list == nullptr || std::none_of(list->begin(), list->end(), [](const Json& operation) {
          return operation.string() != nullptr && *operation.string() == "verify";
        })) {
      return std::nullopt;
    }
  }
  return algorithm;
}

absl::StatusOr<std::optional<VerifyingKey>> ParseKey(const Json& jwk) {
  if (jwk.object() == nullptr) return FieldError("", "must be a JSON object");
  ASSIGN_OR_RETURN(const std::optional<JwtAlgorithm> algorithm, AlgorithmOf(jwk));
  if (!algorithm.has_value()) return std::nullopt;
  VerifyingKey key;
  key.algorithm = *algorithm;
  if (jwk.Find("kid") != nullptr) {
    ASSIGN_OR_RETURN(const std::string* const kid, TextOf(jwk, "kid"));
    if (kid->empty() || kid->size() > kMaxKidBytes) {
      return FieldError("kid", absl::StrCat("must be 1 to ", kMaxKidBytes, " bytes"));
    }
    key.kid = *kid;
  }
  ASSIGN_OR_RETURN(key.key, *algorithm == JwtAlgorithm::kRs256 ? RsaKey(jwk) : EcKey(jwk));
  key.fingerprint = FingerprintOf(key.key.get());
  return key;
}

}  // namespace

std::string_view AlgorithmName(JwtAlgorithm algorithm) {
  return algorithm == JwtAlgorithm::kRs256 ? "RS256" : "ES256";
}

absl::StatusOr<std::shared_ptr<const KeySet>> KeySet::Parse(std::string_view text) {
  if (text.size() > kMaxFileBytes) return absl::InvalidArgumentError("must be at most 256 KiB");
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  const Json* const list = json.Find("keys");
  if (list == nullptr || list->array() == nullptr || list->array()->size() > kMaxKeys) {
    return FieldError("keys", "must be a list of at most 100 keys");
  }
  auto set = std::make_shared<KeySet>();
  for (size_t i = 0; i < list->array()->size(); ++i) {
    const std::string field = absl::StrCat("keys[", i, "]");
    absl::StatusOr<std::optional<VerifyingKey>> key = ParseKey((*list->array())[i]);
    if (!key.ok()) return PrefixField(field, key.status());
    if (!key->has_value()) continue;
    if ((*key)->kid.has_value() &&
        std::any_of(set->keys_.begin(), set->keys_.end(),
                    [&](const VerifyingKey& other) { return other.kid == (*key)->kid; })) {
      return FieldError(absl::StrCat(field, ".kid"), "is the one of an earlier key");
    }
    set->keys_.push_back(**std::move(key));
  }
  if (set->keys_.empty()) return FieldError("keys", "must have a key for RS256 or ES256");
  return set;
}

bool KeySet::Has(const Sha256Hash& fingerprint) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](const VerifyingKey& key) { return key.fingerprint == fingerprint; });
}

const VerifyingKey* KeySet::Find(const std::optional<std::string>& kid,
                                 JwtAlgorithm algorithm) const {
  const VerifyingKey* found = nullptr;
  for (const VerifyingKey& key : keys_) {
    if (kid.has_value() ? key.kid != kid : key.algorithm != algorithm) continue;
    if (found != nullptr) return nullptr;
    found = &key;
  }
  return found;
}

}  // namespace dpledger::identity
