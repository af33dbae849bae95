#include "client/correlated_privatizer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/event_recorder.h"
#include "client/internal/encoder.h"
#include "client/rounded_gaussian.h"
#include "client/run_event.h"
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

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginRun(
    const CorrelatedOptions& options, EventRecorder* recorder, RunState* state) {
  return BeginWithRoot(options, Lent(recorder), RootKey::FromKernel(), state);
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>>
CorrelatedPrivatizer::BeginNonPrivateRunForTesting(const CorrelatedOptions& options,
                                                   EventRecorder* recorder, uint64_t seed,
                                                   RunState* state) {
  return BeginWithRoot(options, Lent(recorder), RootKey::NonPrivateForTesting(seed), state);
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginWithRoot(
    const CorrelatedOptions& options, std::shared_ptr<EventRecorder> recorder,
    absl::StatusOr<RootKey> root, RunState* state) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto sum = ClippedSum::Create(options.sums);
  if (!sum.ok()) return PrefixField("sums", sum.status());
  const int bits = MessageBits(options);
  if (sum->plan().noise_stddev > RoundedGaussian::kMaxSigma >> bits) {
    return FieldError("sums.noise_multiplier",
                      absl::StrCat("is too large for messages in shares of 2^-", bits, ", got ",
                                   options.sums.noise_multiplier));
  }
  ASSIGN_OR_RETURN(const v1::MatrixMechanism mechanism, MechanismOf(options, sum->plan()));
  std::string shape = ShapeOf(options, mechanism, *sum);
  const auto kept = state ? state->Take(RunState::Kind::kCorrelatedRun) : std::nullopt;
  if (kept) {
    internal::StateReader run(*kept);
    if (run.String() != shape) {
      return absl::FailedPreconditionError(
          "options: are not those of the run that is carried on, which is charged by them");
    }
    ASSIGN_OR_RETURN(RootKey carried, RootKey::Restore(run));
    std::unique_ptr<CorrelatedPrivatizer> carried_on(new CorrelatedPrivatizer(
        options, *std::move(sum), recorder, std::move(carried), state, std::move(shape)));
    RETURN_IF_ERROR(carried_on->CarryOn(run));
    return carried_on;
  }
  RETURN_IF_ERROR(root.status());
  v1::MechanismEvent event;
  if (root->non_private()) {
    event.mutable_non_private();
  } else {
    ASSIGN_OR_RETURN(event, EventOf(options, sum->plan()));
  }
  std::unique_ptr<CorrelatedPrivatizer> run(new CorrelatedPrivatizer(
      options, *std::move(sum), recorder, *std::move(root), state, std::move(shape)));
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
  return sampler_->Draw(steps_done_);
}

absl::Status CorrelatedPrivatizer::Accumulate(absl::Span<const float> gradients) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  return sum_.Accumulate(gradients);
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  return sum_.Accumulate(rows);
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows,
                                              absl::Span<const double> norms) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  return sum_.Accumulate(rows, norms);
}

absl::Status CorrelatedPrivatizer::AddSums(absl::Span<const int64_t> sums) {
  const internal::InUse::Call call(in_use_);
  RETURN_IF_ERROR(CheckStepsLeft(call));
  return sum_.AddSums(sums);
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

}  // namespace dpledger::client
