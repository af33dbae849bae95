#include "client/correlated_privatizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/banded_encoder.h"
#include "client/internal/buffered_encoder.h"
#include "client/internal/tree_encoder.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {
namespace {

// Coordinates whose message stays in a cache from noise to estimate. Fewer would cost time in the
// noise, whose slow cases have a budget for each call.
constexpr size_t kPiece = size_t{1} << 17;
static_assert(kPiece % internal::kPieceUnit == 0);

std::unique_ptr<internal::Encoder> MakeEncoder(const TreeAggregation&, size_t size) {
  return std::make_unique<internal::TreeEncoder>(size);
}
std::unique_ptr<internal::Encoder> MakeEncoder(const BandedToeplitz& banded, size_t size) {
  return std::make_unique<internal::BandedEncoder>(IntegerCoefficients(banded), size);
}
std::unique_ptr<internal::Encoder> MakeEncoder(const BufferedToeplitz& buffered, size_t size) {
  return std::make_unique<internal::BufferedEncoder>(
      internal::BufferPlan::For(buffered.weights, buffered.decays), kCoefficientBits, size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginRun(
    const CorrelatedOptions& options, EventRecorder* recorder) {
  ASSIGN_OR_RETURN(RootKey root, RootKey::FromKernel());
  return BeginWithRoot(options, recorder, std::move(root));
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>>
CorrelatedPrivatizer::BeginNonPrivateRunForTesting(const CorrelatedOptions& options,
                                                   EventRecorder* recorder, uint64_t seed) {
  return BeginWithRoot(options, recorder, RootKey::NonPrivateForTesting(seed));
}

absl::StatusOr<std::unique_ptr<CorrelatedPrivatizer>> CorrelatedPrivatizer::BeginWithRoot(
    const CorrelatedOptions& options, EventRecorder* recorder, RootKey root) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto sum = ClippedSum::Create(options.sums);
  if (!sum.ok()) return PrefixField("sums", sum.status());
  const int bits = MessageBits(options);
  if (sum->plan().noise_stddev > RoundedGaussian::kMaxSigma >> bits) {
    return FieldError("sums.noise_multiplier",
                      absl::StrCat("is too large for messages in shares of 2^-", bits, ", got ",
                                   options.sums.noise_multiplier));
  }
  ASSIGN_OR_RETURN(v1::MatrixMechanism mechanism, MechanismOf(options, sum->plan()));
  v1::MechanismEvent event;
  if (root.non_private()) {
    event.mutable_non_private();
  } else {
    *event.mutable_matrix_mechanism() = std::move(mechanism);
  }
  std::unique_ptr<CorrelatedPrivatizer> run(
      new CorrelatedPrivatizer(options, *std::move(sum), recorder, std::move(root)));
  ASSIGN_OR_RETURN(run->recorded_, recorder->RecordMechanism(event));
  return run;
}

CorrelatedPrivatizer::CorrelatedPrivatizer(const CorrelatedOptions& options, ClippedSum sum,
                                           EventRecorder* recorder, RootKey root)
    : options_(options),
      noise_stddev_(sum.plan().noise_stddev << MessageBits(options)),
      sum_(std::move(sum)),
      encoder_(
          std::visit([&](const auto& encoder) { return MakeEncoder(encoder, sum_.dimension()); },
                     options_.encoder)),
      message_(std::min(kPiece, sum_.dimension())),
      recorder_(recorder),
      root_(std::move(root)) {}

absl::Status CorrelatedPrivatizer::CheckStepsLeft() const {
  if (in_step_) {
    return absl::FailedPreconditionError(
        "memory ran out in the middle of a step, which cannot be repeated: begin a new run");
  }
  if (steps_done_ < options_.steps) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("all ", options_.steps,
                                                    " planned steps are done: more are a new run, "
                                                    "with an event of its own"));
}

absl::Status CorrelatedPrivatizer::Accumulate(absl::Span<const float> gradients) {
  RETURN_IF_ERROR(CheckStepsLeft());
  return sum_.Accumulate(gradients);
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows) {
  RETURN_IF_ERROR(CheckStepsLeft());
  sum_.Accumulate(rows);
  return absl::OkStatus();
}

absl::Status CorrelatedPrivatizer::Accumulate(const GradientRows& rows,
                                              absl::Span<const double> norms) {
  RETURN_IF_ERROR(CheckStepsLeft());
  return sum_.Accumulate(rows, norms);
}

absl::Status CorrelatedPrivatizer::AddSums(absl::Span<const int64_t> sums) {
  RETURN_IF_ERROR(CheckStepsLeft());
  return sum_.AddSums(sums);
}

absl::StatusOr<std::vector<float>> CorrelatedPrivatizer::FinishStep() {
  RETURN_IF_ERROR(CheckStepsLeft());
  if (!releasable_) RETURN_IF_ERROR(recorder_->AwaitReleasable(recorded_));
  releasable_ = true;
  RETURN_IF_ERROR(root_.CheckSafeToDraw());
  std::vector<float> estimates(dimension());
  KeyStream key = root_.Derive(KeyPurpose::kNoise, steps_done_);
  ++steps_done_;
  in_step_ = true;
  for (size_t begin = 0; begin < estimates.size(); begin += kPiece) {
    ReleasePiece(key, begin, absl::MakeSpan(estimates).subspan(begin, kPiece));
  }
  in_step_ = false;
  sum_.Clear();
  ToUnits(absl::MakeSpan(estimates));
  return estimates;
}

void CorrelatedPrivatizer::ReleasePiece(KeyStream& key, size_t begin, absl::Span<float> estimates) {
  const RoundedGaussian noise(noise_stddev_);
  const absl::Span<int64_t> sums = sum_.mutable_sums().subspan(begin, estimates.size());
  const absl::Span<int64_t> message = absl::MakeSpan(message_).first(estimates.size());
  for (size_t i = 0; i < encoder_->Messages(steps_done_); ++i) {
    std::fill(message.begin(), message.end(), 0);
    noise.AddTo(key, i, begin, message);
    encoder_->Encode(steps_done_, i, begin, sums, message);
    // From here on the message is public.
    encoder_->Decode(steps_done_, i, begin, message, estimates);
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
