#include "merkle/ed25519.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/status.h"

namespace dpledger::merkle {
namespace {

constexpr std::string_view kPemBegin = "-----BEGIN PRIVATE KEY-----";
constexpr std::string_view kPemEnd = "-----END PRIVATE KEY-----";
// An Ed25519 key takes 119 bytes; RFC 5958 lets attributes follow it.
constexpr size_t kMaxPemBytes = 4096;

// For what fails only without memory or without the algorithm: no caller could go on rightly.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Ed25519: %s failed\n", what);
  std::abort();
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using ContextPointer = std::unique_ptr<EVP_MD_CTX, FreeContext>;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPointer = std::unique_ptr<BIO, FreeBio>;

ContextPointer NewContext() {
  ContextPointer context(EVP_MD_CTX_new());
  Require(context != nullptr, "EVP_MD_CTX_new");
  return context;
}

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// Without it OpenSSL would ask the terminal for a password.
int RefusePassword(char*, int, int, void*) { return -1; }

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

void Ed25519PrivateKey::Free::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);  // wipes the private half
}

Ed25519PrivateKey::Ed25519PrivateKey(KeyPointer key) : key_(std::move(key)), public_key_() {
  size_t length = public_key_.size();
  Require(EVP_PKEY_get_raw_public_key(key_.get(), public_key_.data(), &length) == 1 &&
              length == public_key_.size(),
          "EVP_PKEY_get_raw_public_key");
}

absl::StatusOr<Ed25519PrivateKey> Ed25519PrivateKey::Generate() {
  KeyPointer key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) {
    ERR_clear_error();
    return absl::UnavailableError("Ed25519 key: OpenSSL could not generate one");
  }
  return Ed25519PrivateKey(std::move(key));
}

absl::StatusOr<Ed25519PrivateKey> Ed25519PrivateKey::FromSeed(std::string_view seed) {
  if (seed.size() != 32) return FieldError("seed", "must be 32 bytes");
  KeyPointer key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(seed), seed.size()));
  Require(key != nullptr, "EVP_PKEY_new_raw_private_key");
  return Ed25519PrivateKey(std::move(key));
}

absl::StatusOr<Ed25519PrivateKey> Ed25519PrivateKey::FromPem(std::string_view pem) {
  const absl::Status refused = FieldError(
      "private key", "must be one unencrypted Ed25519 key as PEM, -----BEGIN PRIVATE KEY-----");
  const std::string_view text = Trimmed(pem);
  if (text.size() > kMaxPemBytes || !text.starts_with(kPemBegin) || !text.ends_with(kPemEnd) ||
      text.find(kPemBegin, 1) != std::string_view::npos) {
    return refused;
  }
  const BioPointer bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Require(bio != nullptr, "BIO_new_mem_buf");
  KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, RefusePassword, nullptr));
  ERR_clear_error();
  if (key == nullptr || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) return refused;
  return Ed25519PrivateKey(std::move(key));
}

std::string Ed25519PrivateKey::ToPem() const {
  const BioPointer bio(BIO_new(BIO_s_secmem()));
  Require(bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr,
                                                          0, nullptr, nullptr) == 1,
          "PEM_write_bio_PKCS8PrivateKey");
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  std::string pem(data, static_cast<size_t>(length));
  OPENSSL_cleanse(data, static_cast<size_t>(length));
  return pem;
}

Ed25519Signature Ed25519PrivateKey::Sign(std::string_view message) const {
  const ContextPointer context = NewContext();
  Ed25519Signature signature;
  size_t length = signature.size();
  Require(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), signature.data(), &length, Bytes(message),
                             message.size()) == 1 &&
              length == signature.size(),
          "EVP_DigestSign");
  return signature;
}

Hash Ed25519PrivateKey::Derive(std::string_view purpose) const {
  std::array<uint8_t, 32> seed;
  size_t length = seed.size();
  Require(
      EVP_PKEY_get_raw_private_key(key_.get(), seed.data(), &length) == 1 && length == seed.size(),
      "EVP_PKEY_get_raw_private_key");
  const Hash no_salt = {};
  Hash extracted;
  const uint8_t* made = HMAC(EVP_sha256(), no_salt.data(), static_cast<int>(no_salt.size()),
                             seed.data(), seed.size(), extracted.data(), nullptr);
  OPENSSL_cleanse(seed.data(), seed.size());
  Require(made != nullptr, "HKDF-Extract");
  const std::string info = std::string(purpose) + '\1';
  Hash derived;
  made = HMAC(EVP_sha256(), extracted.data(), static_cast<int>(extracted.size()), Bytes(info),
              info.size(), derived.data(), nullptr);
  OPENSSL_cleanse(extracted.data(), extracted.size());
  Require(made != nullptr, "HKDF-Expand");
  return derived;
}

bool Ed25519Verify(const Ed25519PublicKey& public_key, std::string_view message,
                   const Ed25519Signature& signature) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, public_key.data(), public_key.size()),
      EVP_PKEY_free);
  const ContextPointer context = NewContext();
  const bool fits =
      key != nullptr &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), Bytes(message),
                       message.size()) == 1;
  ERR_clear_error();
  return fits;
}

void Wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace dpledger::merkle
