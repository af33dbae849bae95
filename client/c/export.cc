// Taking the ledger home, in the C interface.
#include "client/export.h"

#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/read.h"

using dpledger::client::c::CheckGiven;
using dpledger::client::c::Guard;

extern "C" {

dpledger_status dpledger_recorder_export(const dpledger_recorder* recorder, const char* file,
                                         dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    ASSIGN_OR_RETURN(const std::string path, dpledger::client::c::ReadText("file", file));
    if (path.empty()) return dpledger::FieldError("file", "must name a file, got nothing");
    const dpledger::client::PrivacyRecorder& opened = *recorder->opened->recorder;
    return dpledger::client::ExportLedger(opened.channel(), opened.ledger(), path);
  });
}

}  // extern "C"
