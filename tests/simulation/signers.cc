#include "tests/simulation/signers.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "merkle/proof.h"

namespace dpledger::simulation {
namespace {

constexpr char kOrigin[] = "registry.example";

// Made once: to make a key takes as long as to sign.
std::shared_ptr<const merkle::Ed25519PrivateKey> KeyOf(char byte) {
  return std::make_shared<merkle::Ed25519PrivateKey>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, byte)));
}
const std::shared_ptr<const merkle::Ed25519PrivateKey>& SigningKey() {
  static const auto& key = *new auto(KeyOf('s'));
  return key;
}
const std::shared_ptr<const merkle::Ed25519PrivateKey>& WitnessKey() {
  static const auto& key = *new auto(KeyOf('w'));
  return key;
}

}  // namespace

merkle::VerifierKey RegistryKey() {
  static const auto& key = *new merkle::VerifierKey{kOrigin, merkle::SignatureType::kEd25519,
                                                    SigningKey()->public_key()};
  return key;
}

void Signers::Connect(size_t signer, LedgerStore* store) {
  notaries_[signer].reset();
  stores_[signer] = store;
  if (signing_ && signer_ == signer) signing_ = false;
}

NotaryOptions Signers::OptionsOf(size_t signer, const std::string& second_place) {
  NotaryOptions options;
  options.key = SigningKey();
  options.origin = kOrigin;
  options.checkpoint_file = second_place;
  options.holder = absl::StrCat("notary-", same_holder_ ? 0 : signer);
  if (signer % 2 == 1) options.read_at_most = 0;  // starts from the registry's signed end
  options.max_entries = 5;                        // so that long ledgers take several rounds
  options.max_ledgers = 2;
  options.clock = &clock_;
  options.cosigner = [this](const std::string& note, uint64_t size,
                            const ConsistencyProver& prove) { return Cosign(note, size, prove); };
  return options;
}

absl::Status Signers::Open(size_t signer) {
  if (notaries_[signer] != nullptr || stores_[signer] == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(notaries_[signer], Notary::Open(OptionsOf(signer, ""), *stores_[signer]));
  return absl::OkStatus();
}

void Signers::Sign(size_t signer) {
  if (notaries_[signer] == nullptr) return;
  const bool nested = std::exchange(signing_, true);
  const size_t outer = std::exchange(signer_, signer);
  const absl::StatusOr<SigningRound> round = notaries_[signer]->Sign();
  signer_ = outer;
  signing_ = nested;
  trace_.Note(absl::StrCat(
      "signer ", signer, ": ",
      round.ok() ? absl::StrCat(round->ledgers, " ledgers") : round.status().ToString()));
  if (round.ok()) ++trace_.outcome.rounds_signed;
  if (absl::IsDataLoss(round.status()) && damaged_) ++trace_.outcome.refusals;
  if (!round.ok() && !absl::IsUnavailable(round.status()) && !absl::IsAborted(round.status()) &&
      !(damaged_ && absl::IsDataLoss(round.status()))) {
    trace_.Broken(absl::StrCat("signer ", signer, ": ", round.status().ToString()));
  }
  trace_.Hold(model_.Witness(stores_[signer]->checkpoints()));
}

std::vector<merkle::NoteSignature> Signers::Cosign(const std::string& text, uint64_t size,
                                                   const ConsistencyProver& prove) {
  const merkle::Note note = *merkle::Note::Parse(text);
  const merkle::Checkpoint shown = *merkle::ParseCheckpoint(note.text);
  const auto [seen, is_new] = shown_.emplace(size, shown.root);
  if (!is_new && seen->second != shown.root)
    trace_.Broken(absl::StrCat("a witness is shown two registries of size ", size));
  // A signer that was overtaken shows what it has: an earlier one, which the witness refuses.
  if (size < cosigned_.size) return {};
  if (cosigned_.size > 0) {
    const auto proof = prove(cosigned_.size);
    if (absl::IsUnavailable(proof.status())) return {};
    const absl::Status grown =
        proof.ok()
            ? merkle::VerifyConsistency(cosigned_.size, cosigned_.root, size, shown.root, *proof)
            : proof.status();
    if (!grown.ok() && !damaged_)
      trace_.Broken(absl::StrCat("a witness is shown another history: ", grown.ToString()));
    if (!grown.ok()) return {};
  }
  cosigned_ = shown;
  if (chance_.OneIn(2)) return {};
  const auto seconds = static_cast<uint64_t>(absl::ToUnixSeconds(clock_.Now()));
  return {*merkle::CosignNote(note.text, "witness.example", seconds, *WitnessKey())};
}

}  // namespace dpledger::simulation
