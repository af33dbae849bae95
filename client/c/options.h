// The C interface's options as those of client/, every member checked that the C++ cannot check.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/correlated_options.h"
#include "client/integer_clip.h"
#include "client/privatizer_options.h"
#include "client/recorder.h"
#include "client/run_state.h"
#include "dpledger.h"

namespace dpledger::client::c {

// All but their state.
absl::StatusOr<RecorderOptions> ReadRecorderOptions(const dpledger_recorder_options* given);
// Null if they have none.
absl::StatusOr<std::unique_ptr<RunState>> OpenState(const dpledger_recorder_options* given,
                                                    const std::string& spool_folder);

absl::StatusOr<PrivatizerOptions> ReadPrivatizerOptions(const dpledger_privatizer_options* given);

absl::StatusOr<CorrelatedOptions> ReadCorrelatedOptions(const dpledger_correlated_options* given);

// Rows of `dimension` coordinates, all of them in the address space.
absl::StatusOr<GradientRows> ReadRows(const dpledger_gradient_rows* given, size_t dimension);

}  // namespace dpledger::client::c
