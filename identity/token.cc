#include "identity/token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <cstdlib>

#include "identity/base64url.h"

namespace dpledger::identity {
namespace {

constexpr size_t kSecretBytes = 32, kChecksumBytes = 4;

std::string Checksum(std::string_view prefix_and_secret) {
  const Sha256Hash hash = HashOf(prefix_and_secret);
  return Base64UrlEncode({reinterpret_cast<const char*>(hash.data()), kChecksumBytes});
}

}  // namespace

Sha256Hash HashOf(std::string_view text) {
  Sha256Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

std::string MakeToken() {
  std::string secret(kSecretBytes, '\0');
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1) {
    std::abort();
  }
  std::string token(kTokenPrefix);
  token += Base64UrlEncode(secret);
  OPENSSL_cleanse(secret.data(), secret.size());
  return token + Checksum(token);
}

bool IsToken(std::string_view text) {
  if (text.size() != kTokenBytes || text.substr(0, kTokenPrefix.size()) != kTokenPrefix) {
    return false;
  }
  constexpr size_t kSecretEnd = 4 + 43;
  const std::optional<std::string> secret =
      Base64UrlDecode(text.substr(kTokenPrefix.size(), kSecretEnd - kTokenPrefix.size()));
  return secret.has_value() && text.substr(kSecretEnd) == Checksum(text.substr(0, kSecretEnd));
}

std::string WithoutTokens(const std::string& text) {
  constexpr std::string_view kJwtBegins = "eyJ";  // {" in base64url
  const bool found = text.find(kTokenPrefix) != text.npos || text.find(kJwtBegins) != text.npos;
  return found ? "(it looks like a token, and is not repeated)" : text;
}

}  // namespace dpledger::identity
