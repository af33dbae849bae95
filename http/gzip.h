// gzip (RFC 1952), with a bound on what comes out. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpledger::http {

// INVALID_ARGUMENT: `bytes` is not exactly one gzip member. RESOURCE_EXHAUSTED (MESSAGE_TOO_LARGE):
// more than `max_bytes` come out; not much more memory than that is taken to find out.
absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t max_bytes);

std::string Gzip(std::string_view bytes);

}  // namespace dpledger::http
