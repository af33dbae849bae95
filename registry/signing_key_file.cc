#include "registry/signing_key_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/secret_file.h"
#include "base/status.h"

namespace dpledger {
namespace {

constexpr size_t kMaxKeyFileBytes = 4096;  // a key takes 119

}  // namespace

absl::StatusOr<merkle::Ed25519PrivateKey> ReadSigningKey(const std::string& path) {
  ASSIGN_OR_RETURN(std::string pem, ReadSecretFile(path, kMaxKeyFileBytes));
  absl::StatusOr<merkle::Ed25519PrivateKey> key = merkle::Ed25519PrivateKey::FromPem(pem);
  merkle::Wipe(pem);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": must hold one Ed25519 private key as PEM (PKCS #8, not encrypted)"));
}

absl::StatusOr<merkle::Ed25519PrivateKey> MakeSigningKey(const std::string& path) {
  ASSIGN_OR_RETURN(merkle::Ed25519PrivateKey key, merkle::Ed25519PrivateKey::Generate());
  std::string pem = key.ToPem();
  const absl::Status made = MakeSecretFile(path, pem);
  merkle::Wipe(pem);
  if (absl::IsAlreadyExists(made)) return ReadSigningKey(path);
  RETURN_IF_ERROR(made);
  return key;
}

absl::StatusOr<merkle::Ed25519PrivateKey> ReadOrMakeSigningKey(const std::string& path) {
  absl::StatusOr<merkle::Ed25519PrivateKey> key = ReadSigningKey(path);
  return absl::IsNotFound(key.status()) ? MakeSigningKey(path) : std::move(key);
}

}  // namespace dpledger
