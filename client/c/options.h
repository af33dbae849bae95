// The C interface's options as those of client/, every member checked that the C++ cannot check.
#pragma once

#include "absl/status/statusor.h"
#include "client/correlated_options.h"
#include "client/integer_clip.h"
#include "client/privatizer_options.h"
#include "dpledger.h"
#include "dpledger/client.h"

namespace dpledger::client::c {

absl::StatusOr<dpledger::RecorderOptions> ReadRecorderOptions(
    const dpledger_recorder_options* given);

absl::StatusOr<PrivatizerOptions> ReadPrivatizerOptions(const dpledger_privatizer_options* given);

absl::StatusOr<CorrelatedOptions> ReadCorrelatedOptions(const dpledger_correlated_options* given);

absl::StatusOr<GradientRows> ReadRows(const dpledger_gradient_rows* given);

}  // namespace dpledger::client::c
