// The recorder that the tests of this folder open against their servers.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "client/recorder.h"

namespace dpledger::client {

// Of the ledger `adult`, with waits that are short.
inline RecorderOptions OptionsFor(const std::string& server, const std::string& spool_folder) {
  RecorderOptions options;
  options.server = server;
  options.ledger = "adult";
  options.declaration.set_dataset("adult");
  options.declaration.set_unit_of_privacy("example");
  options.declaration.set_adjacency(v1::ADD_OR_REMOVE_ONE);
  options.declaration.set_parameters(v1::FIXED);
  options.spool_folder = spool_folder;
  options.longest_backoff = absl::Milliseconds(200);
  return options;
}

inline std::unique_ptr<PrivacyRecorder> OpenRecorder(const RecorderOptions& options) {
  auto recorder = PrivacyRecorder::Open(options);
  if (!recorder.ok()) throw std::runtime_error(recorder.status().ToString());
  return *std::move(recorder);
}

}  // namespace dpledger::client
