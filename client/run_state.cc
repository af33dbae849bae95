#include "client/run_state.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "base/status.h"
#include "client/internal/state_bytes.h"

namespace dpledger::client {
namespace {

using internal::StateReader;
using internal::StateWriter;

constexpr size_t kKeyBytes = 32;
constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr char kMagic[] = "dpledger run state 1";
constexpr RunState::Kind kKinds[] = {RunState::Kind::kSampler, RunState::Kind::kCorrelatedRun,
                                     RunState::Kind::kCorrelatedSteps};

const char* NameOf(RunState::Kind kind) {
  constexpr const char* kNames[] = {"sampler", "correlated-run", "correlated-steps"};
  return kNames[static_cast<size_t>(kind)];
}

// Tells one key from another, and nothing else of it.
std::string NameOfKey(const std::string& key) {
  return internal::Sha256(absl::StrCat("dpledger run state key", key)).substr(0, 8);
}

const uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}
uint8_t* Bytes(std::string& text) { return reinterpret_cast<uint8_t*>(text.data()); }

// AES-256-GCM either way over `text`; false if the library fails or, to open, the tag is wrong.
bool Cipher(bool seal, const std::string& key, const std::string& nonce, std::string_view header,
            std::string_view text, std::string& tag, std::string& result) {
  EVP_CIPHER_CTX* const c = EVP_CIPHER_CTX_new();
  const absl::Cleanup free_cipher = [c] { EVP_CIPHER_CTX_free(c); };
  int size = 0;
  result.resize(text.size());
  if (c == nullptr ||
      EVP_CipherInit_ex(c, EVP_aes_256_gcm(), nullptr, Bytes(key), Bytes(nonce), seal) != 1 ||
      EVP_CipherUpdate(c, nullptr, &size, Bytes(header), static_cast<int>(header.size())) != 1) {
    return false;
  }
  // In pieces: sizes of a call are ints.
  constexpr size_t kPiece = size_t{1} << 30;
  for (size_t at = 0; at < text.size(); at += kPiece) {
    const auto piece = static_cast<int>(std::min(kPiece, text.size() - at));
    if (EVP_CipherUpdate(c, Bytes(result) + at, &size, Bytes(text) + at, piece) != 1) return false;
  }
  if (!seal && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) != 1) {
    return false;
  }
  uint8_t none[kTagBytes];
  if (EVP_CipherFinal_ex(c, none, &size) != 1) return false;
  return !seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
}

absl::Status Torn(const std::string& path) {
  return absl::DataLossError(absl::StrCat(
      path, ": is torn, or was changed. It was kept: move it away to go on without it"));
}

absl::Status OfAnother(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": is of another ", what, ". It was kept: move it away to go on without it"));
}

}  // namespace

// In plain text before what is sealed, and bound to it.
struct RunState::Header {
  std::string key, ledger, writer, kind, incarnation;
  // The incarnation that it was carried on from, until something was stored since.
  std::string carried_from;

  std::string Text() const {
    StateWriter writer_of;
    for (const std::string* text : {&key, &ledger, &writer, &kind, &incarnation, &carried_from}) {
      writer_of.String(*text);
    }
    return absl::StrCat(kMagic, writer_of.bytes());
  }
  bool Read(StateReader& reader) {
    for (std::string* text : {&key, &ledger, &writer, &kind, &incarnation, &carried_from}) {
      *text = reader.String();
    }
    return reader.ok();
  }
};

absl::StatusOr<std::unique_ptr<RunState>> RunState::Open(const std::string& folder,
                                                         const std::string& key_file) {
  ASSIGN_OR_RETURN(std::string key, ReadSecretFile(key_file, kKeyBytes + 1));
  const size_t size = key.size();
  if (size != kKeyBytes) {
    OPENSSL_cleanse(key.data(), size);
    return FieldError("key_file", absl::StrCat("must hold 32 bytes, got ",
                                               size < kKeyBytes ? absl::StrCat(size) : "more"));
  }
  return std::unique_ptr<RunState>(new RunState(folder, std::move(key)));
}

RunState::~RunState() {
  OPENSSL_cleanse(key_.data(), key_.size());
  for (auto& content : carried_) {
    if (content) OPENSSL_cleanse(content->data(), content->size());
  }
}

std::string RunState::PathOf(Kind kind, const RunPosition& position) const {
  // As the spool's: projects/{project}/ledgers/{ledger} without the words.
  const std::string ledger =
      absl::StrReplaceAll(position.ledger, {{"projects/", ""}, {"/ledgers/", "~"}});
  return absl::StrCat(folder_, "/", ledger, "~", position.writer, ".", NameOf(kind), ".state");
}

absl::StatusOr<bool> RunState::CarryOn(const RunPosition& position) {
  std::array<std::optional<std::string>, 3> found;
  // All are read before any is written.
  for (const Kind kind : kKinds) {
    const auto sealed = ReadFile(PathOf(kind, position));
    if (absl::IsNotFound(sealed.status())) continue;
    RETURN_IF_ERROR(sealed.status());
    ASSIGN_OR_RETURN(found[static_cast<size_t>(kind)], Read(kind, *sealed, position));
  }
  position_ = position;
  for (const Kind kind : kKinds) {
    std::optional<std::string>& content = found[static_cast<size_t>(kind)];
    if (!content) continue;
    RETURN_IF_ERROR(Write(HeaderFor(kind, position.previous_incarnation), kind, *content));
  }
  carried_ = std::move(found);
  return carried_[static_cast<size_t>(Kind::kSampler)].has_value();
}

absl::StatusOr<std::string> RunState::Read(Kind kind, const std::string& sealed,
                                           const RunPosition& position) const {
  const std::string path = PathOf(kind, position);
  const std::string_view file = sealed;
  const std::string_view magic = kMagic;
  StateReader reader(file.substr(std::min(magic.size(), file.size())));
  Header header;
  if (!file.starts_with(magic) || !header.Read(reader)) return Torn(path);
  const std::string_view text = file.substr(0, file.size() - reader.rest().size());
  const std::string_view rest = reader.rest();
  if (rest.size() < kNonceBytes + kTagBytes || header.kind != NameOf(kind)) return Torn(path);
  if (header.key != NameOfKey(key_)) return OfAnother(path, "key");
  const std::string nonce(rest.substr(0, kNonceBytes));
  std::string tag(rest.substr(rest.size() - kTagBytes)), content;
  if (!Cipher(/*seal=*/false, key_, nonce, text,
              rest.substr(kNonceBytes, rest.size() - kNonceBytes - kTagBytes), tag, content)) {
    OPENSSL_cleanse(content.data(), content.size());
    return Torn(path);
  }
  const auto other = [&](const std::string& what) {
    OPENSSL_cleanse(content.data(), content.size());
    return OfAnother(path, what);
  };
  if (header.ledger != position.ledger) return other(absl::StrCat("ledger, ", header.ledger));
  if (header.writer != position.writer) return other(absl::StrCat("writer, ", header.writer));
  const std::string& previous = position.previous_incarnation;
  if (previous.empty() || (header.incarnation != previous && header.carried_from != previous)) {
    return other(absl::StrCat("incarnation, ", header.incarnation, "; this run carries on from ",
                              previous.empty() ? "none" : previous));
  }
  return content;
}

RunState::Header RunState::HeaderFor(Kind kind, std::string carried_from) const {
  return {NameOfKey(key_), position_->ledger,      position_->writer,
          NameOf(kind),    position_->incarnation, std::move(carried_from)};
}

std::optional<std::string> RunState::Take(Kind kind) {
  return std::exchange(carried_[static_cast<size_t>(kind)], std::nullopt);
}

absl::Status RunState::Store(Kind kind, std::string_view content) {
  if (!position_) {
    return absl::FailedPreconditionError("run state: CarryOn must come before what is kept");
  }
  return Write(HeaderFor(kind, /*carried_from=*/""), kind, content);
}

absl::Status RunState::Write(const Header& header, Kind kind, std::string_view content) const {
  const std::string path = PathOf(kind, *position_), text = header.Text();
  std::string nonce(kNonceBytes, '\0'), tag(kTagBytes, '\0'), sealed;
  if (RAND_bytes(Bytes(nonce), kNonceBytes) != 1 ||
      !Cipher(/*seal=*/true, key_, nonce, text, content, tag, sealed)) {
    return absl::InternalError(absl::StrCat(path, ": cannot be sealed"));
  }
  return WriteFileDurably(path, absl::StrCat(text, nonce, sealed, tag));
}

}  // namespace dpledger::client
