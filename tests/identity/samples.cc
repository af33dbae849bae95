#include "tests/identity/samples.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "identity/base64url.h"

namespace dpledger::identity {
namespace {

// A broken assumption of a test's own tools ends it.
void Require(bool good) {
  if (!good) std::abort();
}

std::string NumberOf(const EVP_PKEY* key, const char* name, int bytes) {
  BIGNUM* number = nullptr;
  Require(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string out(static_cast<size_t>(bytes > 0 ? bytes : BN_num_bytes(number)), '\0');
  Require(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()),
                       static_cast<int>(out.size())) > 0);
  BN_free(number);
  return Base64UrlEncode(out);
}

}  // namespace

void WriteOwnersFile(const std::string& path, const std::string& content, bool fresh) {
  const std::string beside = path + ".new";
  std::ofstream(beside, std::ios::binary) << content;
  Require(::chmod(beside.c_str(), 0600) == 0 && ::rename(beside.c_str(), path.c_str()) == 0);
  if (fresh) return;
  const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  Require(::utimensat(AT_FDCWD, path.c_str(), old, 0) == 0);
}

SigningKey SigningKey::Rsa(int bits, unsigned exponent) {
  EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  BIGNUM* e = BN_new();
  EVP_PKEY* key = nullptr;
  Require(BN_set_word(e, exponent) == 1 && EVP_PKEY_keygen_init(context) == 1 &&
          EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) == 1 &&
          EVP_PKEY_CTX_set1_rsa_keygen_pubexp(context, e) == 1 &&
          EVP_PKEY_generate(context, &key) == 1);
  BN_free(e);
  EVP_PKEY_CTX_free(context);
  return SigningKey(key);
}

SigningKey SigningKey::Ec(const char* curve) {
  EVP_PKEY* key = EVP_EC_gen(curve);
  Require(key != nullptr);
  return SigningKey(key);
}

std::string SigningKey::Jwk(const std::string& kid, const std::string& more) const {
  const std::string end = absl::StrCat(kid.empty() ? "" : ",\"kid\":\"" + kid + "\"", more, "}");
  if (EVP_PKEY_is_a(key_.get(), "RSA")) {
    return absl::StrCat(R"({"kty":"RSA","n":")", NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_N, 0),
                        R"(","e":")", NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_E, 0), "\"", end);
  }
  char curve[32];
  Require(EVP_PKEY_get_group_name(key_.get(), curve, sizeof(curve), nullptr) == 1);
  const bool p256 = std::string(curve) == "prime256v1";
  const int bytes = p256 ? 32 : 48;
  return absl::StrCat(R"({"kty":"EC","crv":")", p256 ? "P-256" : "P-384", R"(","x":")",
                      NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, bytes), R"(","y":")",
                      NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, bytes), "\"", end);
}

std::string SigningKey::SignDer(const std::string& text) const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  size_t size = 1024;
  std::string signature(size, '\0');
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  Require(EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
          EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, data,
                         text.size()) == 1);
  EVP_MD_CTX_free(context);
  signature.resize(size);
  return signature;
}

std::string SigningKey::Sign(const std::string& text) const {
  const std::string der = SignDer(text);
  if (EVP_PKEY_is_a(key_.get(), "RSA")) return der;
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
  std::string both(64, '\0');
  auto* out = reinterpret_cast<unsigned char*>(both.data());
  Require(BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, 32) == 32 &&
          BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + 32, 32) == 32);
  ECDSA_SIG_free(signature);
  return both;
}

std::string SigningKey::PublicPem() const {
  BIO* out = BIO_new(BIO_s_mem());
  Require(PEM_write_bio_PUBKEY(out, key_.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(out);
  return pem;
}

std::string SigningKey::Token(const std::string& header, const std::string& payload) const {
  const std::string text = absl::StrCat(Base64UrlEncode(header), ".", Base64UrlEncode(payload));
  return absl::StrCat(text, ".", Base64UrlEncode(Sign(text)));
}

std::string Jwks(const std::vector<std::string>& keys) {
  return absl::StrCat("{\"keys\":[", absl::StrJoin(keys, ","), "]}");
}

std::string Payload(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> members = {{"iss", "\"https://issuer.example\""},
                                                {"aud", "\"dpledger\""},
                                                {"sub", "\"robot\""},
                                                {"exp", "1800003600"}};
  for (const auto& [name, value] : changes) {
    members[name] = value;
    if (value.empty()) members.erase(name);
  }
  return absl::StrCat("{",
                      absl::StrJoin(members, ",",
                                    [](std::string* out, const auto& member) {
                                      absl::StrAppend(out, "\"", member.first,
                                                      "\":", member.second);
                                    }),
                      "}");
}

std::string HmacSha256(const std::string& key, const std::string& text) {
  unsigned char mac[32];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size);
  return std::string(reinterpret_cast<char*>(mac), size);
}

}  // namespace dpledger::identity
