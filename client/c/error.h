// Every entry of the C interface runs in Guard: what the C++ says, or throws, becomes a status and
// fills the caller's error object.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "dpledger.h"

struct dpledger_error {
  dpledger_status status = DPLEDGER_OK;
  std::string message, field, reason;
  bool lost = false;  // there was no memory for the texts
};

namespace dpledger::client::c {

// They set `error`, unless it is NULL, and return the code.
dpledger_status Report(const absl::Status& status, dpledger_error* error) noexcept;
dpledger_status Report(dpledger_status status, const char* message, dpledger_error* error) noexcept;

// `body` returns an absl::Status.
template <typename Body>
dpledger_status Guard(dpledger_error* error, const Body& body) noexcept {
  constexpr char kNoMemory[] = "out of memory";
  try {
    return Report(body(), error);
  } catch (const std::bad_alloc&) {
    return Report(DPLEDGER_RESOURCE_EXHAUSTED, kNoMemory, error);
  } catch (const std::length_error&) {
    return Report(DPLEDGER_RESOURCE_EXHAUSTED, kNoMemory, error);
  } catch (const std::exception& exception) {
    return Report(DPLEDGER_INTERNAL, exception.what(), error);
  } catch (...) {
    return Report(DPLEDGER_INTERNAL, "unknown exception", error);
  }
}

// INVALID_ARGUMENT (`name`) if the pointer is NULL.
absl::Status CheckGiven(const void* pointer, const char* name);
// INVALID_ARGUMENT (count) if they differ.
absl::Status CheckCount(size_t needed, size_t count);

}  // namespace dpledger::client::c
