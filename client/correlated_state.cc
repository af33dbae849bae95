// How a CorrelatedPrivatizer is kept and carried on.
#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/correlated_privatizer.h"
#include "client/event_recorder.h"
#include "client/internal/encoder.h"
#include "client/internal/state_bytes.h"

namespace dpledger::client {
namespace {

using internal::StateReader;
using internal::StateWriter;

// Words of the run's own key: what digests are keyed by, and what tells one run from another.
std::string KeyOf(const RootKey& root, uint64_t step) {
  KeyStream stream = root.Derive(KeyPurpose::kDigest, step);
  std::array<uint64_t, 4> words;
  stream.Words(0, 0, absl::MakeSpan(words));
  StateWriter key;
  for (const uint64_t word : words) key.Number(word);
  return std::move(key.bytes());
}

std::string DigestOf(const RootKey& root, uint64_t step, absl::Span<const int64_t> sums) {
  const std::string key = KeyOf(root, 0);
  StateWriter text;
  text.Number(step);
  text.String(internal::Sha256(
      {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(sums[0])}));
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const uint8_t*>(text.bytes().data()), text.bytes().size(),
       reinterpret_cast<uint8_t*>(digest.data()), &size);
  digest.resize(size);
  return digest;
}

}  // namespace

// The digests come first: a run without them could be carried on as if nothing of it had been
// released.
absl::Status CorrelatedPrivatizer::AwaitReleasable() {
  if (releasable_) return absl::OkStatus();
  RETURN_IF_ERROR(recorder_->AwaitReleasable(recorded_));
  if (state_ != nullptr) {
    RETURN_IF_ERROR(StoreDigests());
    RETURN_IF_ERROR(StoreRun());
  }
  releasable_ = true;
  return absl::OkStatus();
}

absl::Status CorrelatedPrivatizer::Save() {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(call.CheckAlone("run"));
  if (state_ == nullptr) return absl::FailedPreconditionError("state: was not given to the run");
  if (in_step_) return absl::FailedPreconditionError("the run has ended in the middle of a step");
  RETURN_IF_ERROR(AwaitReleasable());
  RETURN_IF_ERROR(StoreRun());
  // Steps before this one cannot come again.
  digests_.erase(digests_.begin(), digests_.begin() + (steps_done_ - first_digest_));
  first_digest_ = steps_done_;
  return absl::OkStatus();
}

absl::Status CorrelatedPrivatizer::StoreRun() {
  StateWriter run;
  run.String(shape_);
  root_.Save(run);
  run.Number(steps_done_);
  encoder_->Save(run);
  const absl::Status stored = state_->Store(RunState::Kind::kCorrelatedRun, run.bytes());
  OPENSSL_cleanse(run.bytes().data(), run.bytes().size());
  return stored;
}

absl::Status CorrelatedPrivatizer::StoreDigests() {
  StateWriter steps;
  steps.String(KeyOf(root_, 1));
  steps.Number(first_digest_);
  steps.Number(digests_.size());
  for (const std::string& digest : digests_) steps.String(digest);
  return state_->Store(RunState::Kind::kCorrelatedSteps, steps.bytes());
}

absl::Status CorrelatedPrivatizer::CarryOn(StateReader& run) {
  steps_done_ = run.Number();
  encoder_->Restore(run);
  const auto kept = state_->Take(RunState::Kind::kCorrelatedSteps);
  StateReader steps(kept ? std::string_view(*kept) : std::string_view());
  const bool own = steps.String() == KeyOf(root_, 1);
  first_digest_ = steps.Number();
  for (uint64_t left = steps.Number(); left > 0 && steps.ok(); --left) {
    digests_.push_back(steps.String());
  }
  if (!run.ok() || !run.rest().empty() || !own || !steps.ok() || steps_done_ < first_digest_ ||
      steps_done_ - first_digest_ > digests_.size()) {
    return absl::DataLossError(
        "run state: the run and its steps do not belong together: begin a new run, without them");
  }
  // Its event was releasable before anything was kept.
  releasable_ = true;
  return absl::OkStatus();
}

absl::Status CorrelatedPrivatizer::CheckDigest() {
  std::string digest = DigestOf(root_, steps_done_, sum_.sums());
  const size_t at = steps_done_ - first_digest_;
  if (at == digests_.size()) {
    digests_.push_back(std::move(digest));
    const absl::Status stored = StoreDigests();
    if (!stored.ok()) digests_.pop_back();
    return stored;
  }
  if (CRYPTO_memcmp(digest.data(), digests_[at].data(), digest.size()) == 0) {
    return absl::OkStatus();
  }
  sum_.Clear();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "step ", steps_done_ + 1,
          ": was released with another sum before, and its noise must not hide two: repeat the "
          "gradients of that step, or begin a new run")),
      {"STEP_DIFFERS", {}});
}

}  // namespace dpledger::client
