#include "examples/common/network.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace dpledger::examples {
namespace {

// outputs = weights * inputs + biases, with `layer` the weights and then the biases.
void Affine(absl::Span<const float> layer, absl::Span<const float> inputs,
            absl::Span<float> outputs) {
  const float* biases = layer.data() + inputs.size() * outputs.size();
  for (size_t o = 0; o < outputs.size(); ++o) {
    const float* weights = layer.data() + o * inputs.size();
    float sum = biases[o];
    for (size_t i = 0; i < inputs.size(); ++i) sum += weights[i] * inputs[i];
    outputs[o] = sum;
  }
}

// The gradient of the same layer for the errors of its outputs.
void AffineGradient(absl::Span<const float> errors, absl::Span<const float> inputs,
                    absl::Span<float> layer) {
  for (size_t o = 0; o < errors.size(); ++o) {
    float* weights = layer.data() + o * inputs.size();
    for (size_t i = 0; i < inputs.size(); ++i) weights[i] = errors[o] * inputs[i];
  }
  std::copy(errors.begin(), errors.end(), layer.begin() + errors.size() * inputs.size());
}

}  // namespace

Network::Network(size_t features, size_t hidden, size_t classes)
    : features_(features),
      hidden_(hidden),
      classes_(classes),
      parameter_count_(OutputBegin() + classes * ((hidden > 0 ? hidden : features) + 1)),
      hidden_units_(hidden),
      probabilities_(classes),
      hidden_errors_(hidden) {}

std::vector<float> Network::InitialParameters(uint64_t seed) const {
  std::vector<float> parameters(parameter_count_);
  if (hidden_ == 0) return parameters;
  std::mt19937_64 random(seed);
  const auto fill = [&](size_t begin, size_t inputs, size_t outputs) {
    const float scale = std::sqrt(6.0f / static_cast<float>(inputs + outputs));  // Glorot, Bengio
    for (size_t i = 0; i < inputs * outputs; ++i) {
      // By hand: the standard's distributions differ between libraries.
      const auto unit = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
      parameters[begin + i] = scale * unit;
    }
  };
  fill(0, features_, hidden_);
  fill(OutputBegin(), hidden_, classes_);
  return parameters;
}

absl::Span<const float> Network::OutputInput(absl::Span<const float> x) const {
  return hidden_ > 0 ? absl::MakeConstSpan(hidden_units_) : x;
}

void Network::Forward(absl::Span<const float> parameters, absl::Span<const float> x) {
  if (hidden_ > 0) {
    Affine(parameters, x, absl::MakeSpan(hidden_units_));
    for (float& unit : hidden_units_) unit = std::tanh(unit);
  }
  Affine(parameters.subspan(OutputBegin()), OutputInput(x), absl::MakeSpan(probabilities_));
  const float largest = *std::max_element(probabilities_.begin(), probabilities_.end());
  float sum = 0;
  for (float& p : probabilities_) sum += p = std::exp(p - largest);
  for (float& p : probabilities_) p /= sum;
}

void Network::Gradient(absl::Span<const float> parameters, absl::Span<const float> x, int label,
                       absl::Span<float> gradient) {
  Forward(parameters, x);
  std::vector<float>& errors = probabilities_;
  errors[static_cast<size_t>(label)] -= 1;
  AffineGradient(errors, OutputInput(x), gradient.subspan(OutputBegin()));
  if (hidden_ == 0) return;
  for (size_t h = 0; h < hidden_; ++h) {
    float sum = 0;
    for (size_t c = 0; c < classes_; ++c) {
      sum += parameters[OutputBegin() + c * hidden_ + h] * errors[c];
    }
    hidden_errors_[h] = sum * (1 - hidden_units_[h] * hidden_units_[h]);
  }
  AffineGradient(hidden_errors_, x, gradient);
}

int Network::Predict(absl::Span<const float> parameters, absl::Span<const float> x) {
  Forward(parameters, x);
  const auto best = std::max_element(probabilities_.begin(), probabilities_.end());
  return static_cast<int>(best - probabilities_.begin());
}

double Network::Accuracy(absl::Span<const float> parameters, const Dataset& data,
                         absl::Span<const size_t> rows) {
  size_t right = 0;
  for (const size_t row : rows) right += Predict(parameters, data.row(row)) == data.labels[row];
  return rows.empty() ? 0 : static_cast<double>(right) / static_cast<double>(rows.size());
}

}  // namespace dpledger::examples
