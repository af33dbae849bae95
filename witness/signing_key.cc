#include "witness/signing_key.h"

#include "absl/strings/str_cat.h"
#include "base/secret_file.h"
#include "base/status.h"

namespace dpledger::witness {
namespace {

constexpr size_t kMaxKeyFileBytes = 4096;  // a key takes 119

absl::StatusOr<merkle::Ed25519PrivateKey> Read(const std::string& path) {
  ASSIGN_OR_RETURN(std::string pem, ReadSecretFile(path, kMaxKeyFileBytes));
  absl::StatusOr<merkle::Ed25519PrivateKey> key = merkle::Ed25519PrivateKey::FromPem(pem);
  merkle::Wipe(pem);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": must hold one Ed25519 private key as PEM (PKCS #8, not encrypted)"));
}

}  // namespace

absl::StatusOr<merkle::Ed25519PrivateKey> ReadOrMakeSigningKey(const std::string& path) {
  absl::StatusOr<merkle::Ed25519PrivateKey> key = Read(path);
  if (!absl::IsNotFound(key.status())) return key;
  ASSIGN_OR_RETURN(merkle::Ed25519PrivateKey made, merkle::Ed25519PrivateKey::Generate());
  std::string pem = made.ToPem();
  const absl::Status written = MakeSecretFile(path, pem);
  merkle::Wipe(pem);
  if (absl::IsAlreadyExists(written)) return Read(path);  // another process was faster
  RETURN_IF_ERROR(written);
  return made;
}

}  // namespace dpledger::witness
