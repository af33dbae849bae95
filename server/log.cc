#include "server/log.h"

#include <grpc/support/log.h>

#include "google/protobuf/stubs/logging.h"

namespace dpledger::server {
namespace {

const Log* library_log = nullptr;

void WriteGrpcMessage(gpr_log_func_args* args) {
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kError
                         : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  library_log->Write(level, "grpc", {{"message", std::string(args->message)}});
}

void WriteProtobufMessage(google::protobuf::LogLevel, const char*, int,
                          const std::string& message) {
  library_log->Write(LogLevel::kDebug, "protobuf", {{"message", message}});
}

}  // namespace

void RouteLibraryLogs(const Log* log) {
  library_log = log;
  gpr_set_log_function(WriteGrpcMessage);
  google::protobuf::SetLogHandler(WriteProtobufMessage);
}

}  // namespace dpledger::server
