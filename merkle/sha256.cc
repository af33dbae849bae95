#include "merkle/sha256.h"

#include <openssl/evp.h>

#include <cstdio>
#include <cstdlib>

namespace dpledger::merkle {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "SHA-256: %s failed\n", what);
  std::abort();
}

// Reset between hashes, not rebuilt; freed when its thread ends.
class Context {
 public:
  Context() : context_(EVP_MD_CTX_new()) {
    // Never freed: contexts of other threads may outlive any static object.
    static EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    Require(algorithm != nullptr, "EVP_MD_fetch");
    Require(context_ != nullptr && EVP_DigestInit_ex2(context_, algorithm, nullptr) == 1,
            "EVP_DigestInit_ex2");
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(context_); }

  Hash Digest(std::initializer_list<std::string_view> parts) {
    // Without an algorithm: the one it has, from the start.
    Require(EVP_DigestInit_ex2(context_, nullptr, nullptr) == 1, "EVP_DigestInit_ex2");
    for (std::string_view part : parts) {
      Require(EVP_DigestUpdate(context_, part.data(), part.size()) == 1, "EVP_DigestUpdate");
    }
    Hash hash;
    Require(EVP_DigestFinal_ex(context_, hash.data(), nullptr) == 1, "EVP_DigestFinal_ex");
    return hash;
  }

 private:
  EVP_MD_CTX* const context_;
};

}  // namespace

Hash Sha256(std::initializer_list<std::string_view> parts) {
  thread_local Context context;
  return context.Digest(parts);
}

}  // namespace dpledger::merkle
