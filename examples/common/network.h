// Softmax classification by a linear model, or with one hidden layer of tanh units, with the
// gradient of the cross entropy of one example.
//
// Parameters are one flat vector: for each layer its weights, row by row, then its biases. Thread
// safety: not safe, for its scratch memory; one a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "examples/common/dataset.h"

namespace dpledger::examples {

class Network {
 public:
  // hidden == 0: multinomial logistic regression.
  Network(size_t features, size_t hidden, size_t classes);

  size_t parameter_count() const { return parameter_count_; }
  // Zero for the linear model; else small weights that depend on the seed alone.
  std::vector<float> InitialParameters(uint64_t seed) const;

  // Writes d(cross entropy)/d(parameters) to `gradient` (parameter_count() values).
  void Gradient(absl::Span<const float> parameters, absl::Span<const float> x, int label,
                absl::Span<float> gradient);
  int Predict(absl::Span<const float> parameters, absl::Span<const float> x);
  // The share of `rows` that are predicted right; 0 of none.
  double Accuracy(absl::Span<const float> parameters, const Dataset& data,
                  absl::Span<const size_t> rows);

 private:
  // Fills hidden_units_ (of a hidden layer) and probabilities_.
  void Forward(absl::Span<const float> parameters, absl::Span<const float> x);
  // Where the output layer's parameters begin, and what it reads.
  size_t OutputBegin() const { return hidden_ * (features_ + 1) * (hidden_ > 0); }
  absl::Span<const float> OutputInput(absl::Span<const float> x) const;

  size_t features_, hidden_, classes_;
  size_t parameter_count_;
  std::vector<float> hidden_units_, probabilities_, hidden_errors_;
};

}  // namespace dpledger::examples
