#include "server/signing/witness_client.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"
#include "merkle/text_lines.h"
#include "merkle/witness_request.h"
#include "server/signing/witness_call.h"

namespace dpledger::server {
namespace {

constexpr char kAddCheckpoint[] = "/add-checkpoint";
constexpr size_t kMaxQuotedBytes = 200;

absl::Status Unexpected(const WitnessAnswer& answer) {
  std::string quoted = answer.body.substr(0, kMaxQuotedBytes);
  while (absl::EndsWith(quoted, "\n")) quoted.pop_back();
  return absl::UnavailableError(absl::StrCat("it answers ", answer.status, ": ", quoted));
}

}  // namespace

// One witness, what it cosigned last as far as we know, and when it is asked again.
class WitnessClient::Witness {
 public:
  Witness(WitnessAddress named, WitnessUrl where, std::string ca_file)
      : named_(std::move(named)), where_(std::move(where)), ca_file_(std::move(ca_file)) {}

  const std::string& url() const { return named_.url; }

  // Our signature line, or why not: DATA_LOSS (SPLIT_VIEW, WITNESS_AHEAD) if the witness cosigned
  // what is not in this registry, UNAVAILABLE and others if it just does not work.
  absl::StatusOr<merkle::NoteSignature> Cosign(const merkle::Note& note, uint64_t size,
                                               const ConsistencyProver& prove_from,
                                               absl::Duration timeout) {
    const absl::Time deadline = absl::Now() + timeout;
    ASSIGN_OR_RETURN(WitnessAnswer answer, Ask(note, prove_from, deadline));
    if (answer.status == 409) {
      RETURN_IF_ERROR(TakeSize(answer, size));
      ASSIGN_OR_RETURN(answer, Ask(note, prove_from, deadline));
    }
    if (answer.status == 422) {
      return WithReason(
          absl::DataLossError(absl::StrCat(
              "the witness has cosigned another history of ", cosigned_,
              " entries than this registry has: two servers sign with this key, or this store was "
              "rewritten; it says: ",
              Unexpected(answer).message())),
          {"SPLIT_VIEW", {}});
    }
    if (answer.status != 200) return Unexpected(answer);
    ASSIGN_OR_RETURN(merkle::NoteSignature cosignature, Verified(note, answer.body));
    cosigned_ = size;
    return cosignature;
  }

  // Nothing if the witness knows no such log.
  absl::StatusOr<std::optional<std::string>> Latest(const std::string& origin,
                                                    absl::Duration timeout) const {
    const std::string hash = HexEncode(merkle::ToBytes(merkle::Sha256({origin})));
    ASSIGN_OR_RETURN(
        const WitnessAnswer answer,
        CallWitness(where_, absl::StrCat("/", hash, "/checkpoint"), "", ca_file_, timeout));
    if (answer.status == 404) return std::nullopt;
    if (answer.status != 200) return Unexpected(answer);
    ASSIGN_OR_RETURN(const merkle::Note note, merkle::Note::Parse(answer.body));
    RETURN_IF_ERROR(merkle::VerifyNote(note, {&named_.key, 1}).status());
    return answer.body;
  }

  bool HasSigned(const merkle::Note& note) const {
    return std::any_of(
        note.signatures.begin(), note.signatures.end(),
        [this](const merkle::NoteSignature& signature) { return IsOurs(signature); });
  }
  bool IsDue() const { return absl::Now() >= again_; }
  void Succeeded() { pause_ = absl::ZeroDuration(); }
  void Failed(const WitnessClientOptions& options) {
    pause_ = std::clamp(2 * pause_, options.first_pause, options.longest_pause);
    again_ = absl::Now() + pause_;
  }

 private:
  bool IsOurs(const merkle::NoteSignature& signature) const {
    return signature.name == named_.key.name && signature.key_id == named_.key.Id();
  }

  absl::StatusOr<WitnessAnswer> Ask(const merkle::Note& note, const ConsistencyProver& prove_from,
                                    absl::Time deadline) const {
    merkle::WitnessRequest request{cosigned_, {}, note};
    if (cosigned_ > 0) {
      ASSIGN_OR_RETURN(request.proof, prove_from(cosigned_));
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) return absl::UnavailableError("no answer in time");
    return CallWitness(where_, kAddCheckpoint, merkle::WitnessRequestText(request), ca_file_, left);
  }

  absl::Status TakeSize(const WitnessAnswer& conflict, uint64_t size) {
    std::string_view body = conflict.body;
    const std::optional<std::string_view> line = merkle::TakeLine(body);
    const auto known = line.has_value() ? merkle::ParseDecimal(*line) : std::nullopt;
    if (!known.has_value() || !body.empty()) return Unexpected(conflict);
    if (*known > size) {
      return WithReason(
          absl::DataLossError(absl::StrCat(
              "the witness has cosigned ", *known, " entries of this registry, which has ", size,
              ": this store was put back to an older copy, or another one is signed with its key")),
          {"WITNESS_AHEAD", {}});
    }
    cosigned_ = *known;
    return absl::OkStatus();
  }

  absl::StatusOr<merkle::NoteSignature> Verified(const merkle::Note& note,
                                                 const std::string& lines) const {
    ASSIGN_OR_RETURN(std::vector<merkle::NoteSignature> signatures,
                     merkle::ParseSignatureLines(lines));
    // Signatures of unknown keys are to be ignored.
    RETURN_IF_ERROR(merkle::VerifyNote({note.text, signatures}, {&named_.key, 1}).status());
    for (merkle::NoteSignature& signature : signatures) {
      if (IsOurs(signature)) return std::move(signature);
    }
    return absl::InternalError("a verified signature is gone");
  }

  const WitnessAddress named_;
  const WitnessUrl where_;
  const std::string ca_file_;
  uint64_t cosigned_ = 0;  // entries, as far as we know; a 409 tells otherwise
  absl::Duration pause_ = absl::ZeroDuration();
  absl::Time again_ = absl::InfinitePast();
};

WitnessClient::WitnessClient(const WitnessClientOptions& options,
                             std::vector<std::unique_ptr<Witness>> witnesses, const Log* log)
    : options_(options), witnesses_(std::move(witnesses)), log_(log) {}

WitnessClient::~WitnessClient() = default;

absl::StatusOr<std::unique_ptr<WitnessClient>> WitnessClient::Make(
    const WitnessClientOptions& options, const Log* log) {
  RETURN_IF_ERROR(CheckAuthorities(options.ca_file));
  std::vector<std::unique_ptr<Witness>> witnesses;
  for (const WitnessAddress& named : options.witnesses) {
    ASSIGN_OR_RETURN(WitnessUrl where, WitnessUrl::Parse(named.url));
    if (named.key.type != merkle::SignatureType::kCosignature) {
      return FieldError("witness_key", absl::StrCat("must be the key of a witness (type 4), got ",
                                                    named.key.ToText()));
    }
    witnesses.push_back(std::make_unique<Witness>(named, std::move(where), options.ca_file));
  }
  return std::unique_ptr<WitnessClient>(new WitnessClient(options, std::move(witnesses), log));
}

std::vector<merkle::NoteSignature> WitnessClient::Cosign(const std::string& note, uint64_t size,
                                                         const ConsistencyProver& prove_from) {
  std::vector<merkle::NoteSignature> cosignatures;
  const absl::StatusOr<merkle::Note> parsed = merkle::Note::Parse(note);
  if (!parsed.ok()) return cosignatures;
  for (const std::unique_ptr<Witness>& witness : witnesses_) {
    if (!witness->IsDue() || witness->HasSigned(*parsed)) continue;
    absl::StatusOr<merkle::NoteSignature> cosignature =
        witness->Cosign(*parsed, size, prove_from, options_.timeout);
    if (cosignature.ok()) {
      witness->Succeeded();
      cosignatures.push_back(*std::move(cosignature));
      continue;
    }
    witness->Failed(options_);
    const std::string reason = ReasonOf(cosignature.status()).reason;
    const bool other_history = reason == "SPLIT_VIEW" || reason == "WITNESS_AHEAD";
    log_->Write(other_history ? LogLevel::kError : LogLevel::kWarning,
                reason == "SPLIT_VIEW"      ? "split_view"
                : reason == "WITNESS_AHEAD" ? "witness_ahead"
                                            : "witness_failed",
                {{"witness", witness->url()},
                 {"registry_size", static_cast<int64_t>(size)},
                 {"message", std::string(cosignature.status().message())},
                 {"checkpoint", other_history ? note : "as published"}});
  }
  return cosignatures;
}

absl::StatusOr<std::vector<std::string>> WitnessClient::Latest(const std::string& origin) {
  std::vector<std::string> notes;
  absl::Status failed = absl::UnavailableError("no witness was asked");
  bool answered = false;
  for (const std::unique_ptr<Witness>& witness : witnesses_) {
    absl::StatusOr<std::optional<std::string>> note = witness->Latest(origin, options_.timeout);
    if (note.ok()) {
      answered = true;
      if (note->has_value()) notes.push_back(**std::move(note));
    } else {
      failed = absl::UnavailableError(
          absl::StrCat("witness ", witness->url(), ": ", note.status().message()));
    }
  }
  if (!answered) return failed;
  return notes;
}

}  // namespace dpledger::server
