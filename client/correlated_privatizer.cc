#include "client/correlated_privatizer.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/value_rules.h"
#include "client/event_recorder.h"
#include "client/internal/encoder.h"
#include "client/internal/state_bytes.h"
#include "client/rounded_gaussian.h"
#include "client/run_sampler.h"

namespace dpledger::client {
namespace {

// Coordinates whose message stays in a cache from noise to estimate. Fewer would cost time in the
// noise, whose slow cases have a budget for each call.
constexpr size_t kPiece = size_t{1} << 17;
// Coordinates that are not worth a second thread.
constexpr size_t kShareGrain = size_t{1} << 15;
static_assert(kPiece % internal::kPieceUnit == 0 && kShareGrain % internal::kPieceUnit == 0);

uint64_t PopulationOf(const RunSampling& sampling) {
  if (const auto* cyclic = std::get_if<CyclicPoissonSampling>(&sampling))
    return cyclic->population_size;
  const auto* balls = std::get_if<BallsInBinsSampling>(&sampling);
  return balls == nullptr ? 0 : balls->population_size;
}

std::string ShapeOf(const CorrelatedOptions& options, const v1::MatrixMechanism& mechanism,
                    const ClippedSum& sum) {
  internal::StateWriter shape;
  shape.String(mechanism.SerializeAsString());
  // (A run without sampling has the shape that it had before there was any.)
  if (const uint64_t population = PopulationOf(options.sampling); population > 0)
    shape.Number(population);
  shape.Number(static_cast<uint64_t>(sum.plan().noise_stddev));
  for (const ClippedSum::Group& group : sum.groups()) {
    shape.Number(static_cast<uint64_t>(group.norm_bound));
    for (size_t p = 0; p < group.clip.parts(); ++p) {
      shape.Number(group.clip.part_size(p));
      shape.Number(std::bit_cast<uint64_t>(group.clip.grid(p)));
    }
  }
  return internal::Sha256(shape.bytes());
}

// Words of the run's own key: what digests are keyed by, and what tells one run from another.
std::string KeyOf(const RootKey& root, uint64_t step) {
  KeyStream stream = root.Derive(KeyPurpose::kDigest, step);
  std::array<uint64_t, 4> words;
  stream.Words(0, 0, absl::MakeSpan(words));
  internal::StateWriter key;
  for (const uint64_t word : words) key.Number(word);
  return std::move(key.bytes());
}

std::string DigestOf(const RootKey& root, uint64_t step, absl::Span<const int64_t> sums) {
  const std::string key = KeyOf(root, 0);
  internal::StateWriter text;
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

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginRun(
    const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder) {
  return BeginKept(options, std::move(recorder), RootKey::FromKernel());
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>>
CorrelatedPrivatizer::BeginNonPrivateRunForTesting(const CorrelatedOptions& options,
                                                   std::shared_ptr<EventRecorder> recorder,
                                                   uint64_t seed) {
  return BeginKept(options, std::move(recorder), RootKey::NonPrivateForTesting(seed));
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginKept(
    const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder,
    absl::StatusOr<RootKey> root) {
  KeptRun* const kept = recorder->kept();
  if (kept == nullptr) return BeginWithRoot(options, recorder, std::move(root), nullptr);
  if (kept->has_run.exchange(true)) {
    return absl::FailedPreconditionError("recorder: its state keeps another run already");
  }
  auto begun = BeginWithRoot(options, recorder, std::move(root), kept->state.get());
  // Nothing was taken out of the state.
  if (absl::IsInvalidArgument(begun.status())) kept->has_run = false;
  return begun;
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginWithRoot(
    const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder,
    absl::StatusOr<RootKey> root, RunState* state) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(ClippedSum sum, rules::Within("sums", ClippedSum::Create(options.sums)));
  const int bits = MessageBits(options);
  if (sum.plan().noise_stddev > RoundedGaussian::kMaxSigma >> bits) {
    return FieldError("sums.noise_multiplier",
                      absl::StrCat("is too large for messages in shares of 2^-", bits, ", got ",
                                   options.sums.noise_multiplier));
  }
  ASSIGN_OR_RETURN(const v1::MatrixMechanism mechanism, MechanismOf(options, sum.plan()));
  std::string shape = ShapeOf(options, mechanism, sum);
  const auto kept = state ? state->Take(RunState::Kind::kCorrelatedRun) : std::nullopt;
  if (kept) {
    internal::StateReader run(*kept);
    if (run.String() != shape) {
      return absl::FailedPreconditionError(
          "options: are not those of the run that is carried on, which is charged by them");
    }
    ASSIGN_OR_RETURN(RootKey carried, RootKey::Restore(run));
    std::unique_ptr<CorrelatedPrivatizer> carried_on(new CorrelatedPrivatizer(
        options, std::move(sum), recorder, std::move(carried), state, std::move(shape)));
    RETURN_IF_ERROR(carried_on->CarryOn(run));
    return carried_on;
  }
  RETURN_IF_ERROR(root.status());
  v1::MechanismEvent event;
  if (root->non_private()) {
    event.mutable_non_private();
  } else {
    ASSIGN_OR_RETURN(event, EventOf(options, sum.plan()));
  }
  std::unique_ptr<CorrelatedPrivatizer> run(new CorrelatedPrivatizer(
      options, std::move(sum), recorder, *std::move(root), state, std::move(shape)));
  ASSIGN_OR_RETURN(run->recorded_, recorder->RecordMechanism(event));
  return run;
}

CorrelatedPrivatizer::CorrelatedPrivatizer(const CorrelatedOptions& options, ClippedSum sum,
                                           std::shared_ptr<EventRecorder> recorder, RootKey root,
                                           RunState* state, std::string shape)
    : options_(options),
      noise_stddev_(sum.plan().noise_stddev << MessageBits(options)),
      sum_(std::move(sum)),
      encoder_(internal::MakeEncoder(options_, sum_.dimension())),
      messages_(sum_.workers().threads(), std::vector<int64_t>(std::min(kPiece, sum_.dimension()))),
      recorder_(std::move(recorder)),
      root_(std::move(root)),
      state_(state),
      shape_(std::move(shape)) {
  if (!std::holds_alternative<std::monostate>(options.sampling))
    sampler_ = std::make_unique<RunSampler>(options.sampling, &root_);
}

CorrelatedPrivatizer::~CorrelatedPrivatizer() = default;

absl::Status CorrelatedPrivatizer::CheckStepsLeft(const internal::InUse::Call& call) const {
  RETURN_IF_ERROR(call.CheckAlone("run"));
  if (in_step_) {
    return absl::FailedPreconditionError(
        "memory ran out in the middle of a step, which cannot be repeated: begin a new run");
  }
  if (steps_done_ < options_.steps) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("all ", options_.steps,
                                                    " planned steps are done: more are a new run, "
                                                    "with an event of its own"));
}

absl::StatusOr<std::vector<uint64_t>> CorrelatedPrivatizer::DrawStep() {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  if (!sampler_) {
    return absl::FailedPreconditionError(
        "sampling: was not given to the run, whose records take part as the trainer promised");
  }
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  std::vector<uint64_t> drawn = sampler_->Draw(steps_done_);
  records_ = drawn.size();
  return drawn;
}

absl::Status CorrelatedPrivatizer::Add(uint64_t rows, absl::FunctionRef<absl::Status()> add) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  // Of a step that nobody has drawn, too: its rows are of the same sample.
  if (sampler_ && !records_) records_ = sampler_->Draw(steps_done_).size();
  RETURN_IF_ERROR(sum_.CheckRoomFor(rows, records_));
  return add();
}

absl::Status CorrelatedPrivatizer::Accumulate(absl::Span<const float> gradients) {
  return Add(gradients.size() / dimension(), [&] { return sum_.Accumulate(gradients); });
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows) {
  return Add(rows.count, [&] { return sum_.Accumulate(rows); });
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows,
                                              absl::Span<const double> norms) {
  return Add(rows.count, [&] { return sum_.Accumulate(rows, norms); });
}

absl::Status CorrelatedPrivatizer::AddSums(absl::Span<const int64_t> sums, uint64_t rows) {
  return Add(rows, [&] { return sum_.AddSums(sums, rows); });
}

absl::StatusOr<std::vector<float>> CorrelatedPrivatizer::FinishStep() {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  RETURN_IF_ERROR(AwaitReleasable());
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  if (state_ != nullptr) RETURN_IF_ERROR(CheckDigest());
  std::vector<float> estimates(dimension());
  encoder_->Begin(steps_done_ + 1);
  ++steps_done_;
  records_.reset();
  in_step_ = true;
  sum_.workers().Run([&](size_t share) { ReleaseShare(share, absl::MakeSpan(estimates)); });
  in_step_ = false;
  sum_.Clear();
  ToUnits(absl::MakeSpan(estimates));
  return estimates;
}

void CorrelatedPrivatizer::ReleaseShare(size_t share, absl::Span<float> estimates) {
  const RoundedGaussian noise(noise_stddev_);
  KeyStream key = root_.Derive(KeyPurpose::kNoise, steps_done_ - 1);
  const internal::Range range =
      internal::ShareOf(estimates.size(), share, messages_.size(), kShareGrain);
  for (size_t begin = range.begin; begin < range.end; begin += kPiece) {
    const size_t size = std::min(kPiece, range.end - begin);
    const absl::Span<int64_t> sums = sum_.mutable_sums().subspan(begin, size);
    const absl::Span<int64_t> message = absl::MakeSpan(messages_[share]).first(size);
    for (size_t i = 0; i < encoder_->Messages(steps_done_); ++i) {
      std::fill(message.begin(), message.end(), 0);
      noise.AddTo(key, i, begin, message);
      encoder_->Encode(steps_done_, i, begin, sums, message);
      // From here on the message is public.
      encoder_->Decode(steps_done_, i, begin, message, estimates.subspan(begin, size));
    }
  }
}

void CorrelatedPrivatizer::ToUnits(absl::Span<float> estimates) const {
  size_t i = 0;
  for (const ClippedSum::Group& group : sum_.groups()) {
    for (size_t p = 0; p < group.clip.parts(); ++p) {
      const double grid = group.clip.grid(p);
      for (const size_t end = i + group.clip.part_size(p); i < end; ++i) {
        estimates[i] = static_cast<float>(grid * static_cast<double>(estimates[i]));
      }
    }
  }
}

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
  internal::StateWriter run;
  run.String(shape_);
  root_.Save(run);
  run.Number(steps_done_);
  encoder_->Save(run);
  const absl::Status stored = state_->Store(RunState::Kind::kCorrelatedRun, run.bytes());
  OPENSSL_cleanse(run.bytes().data(), run.bytes().size());
  return stored;
}

absl::Status CorrelatedPrivatizer::StoreDigests() {
  internal::StateWriter steps;
  steps.String(KeyOf(root_, 1));
  steps.Number(first_digest_);
  steps.Number(digests_.size());
  for (const std::string& digest : digests_) steps.String(digest);
  return state_->Store(RunState::Kind::kCorrelatedSteps, steps.bytes());
}

absl::Status CorrelatedPrivatizer::CarryOn(internal::StateReader& run) {
  steps_done_ = run.Number();
  encoder_->Restore(run);
  const auto kept = state_->Take(RunState::Kind::kCorrelatedSteps);
  internal::StateReader steps(kept ? std::string_view(*kept) : std::string_view());
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
