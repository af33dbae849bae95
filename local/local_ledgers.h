// Ledgers in a folder of this machine, for the process that opens it: the services of a server over
// an embedded store, and gRPC's channel within the process in place of a port. What is asked over
// the channel means what it means with a server, and the bytes on the disk are a server's:
// docs/formats.md, section 2, says what is in the folder.
//
//  1. One process at a time has a folder open. In one process all who ask for a folder share it.
//  2. Nothing listens, and callers have no names: whoever may write the folder may append.
//  3. The folder is signed by a key of its own, made with it; when the last channel is gone, all
//     that was appended has been signed.
//  4. A folder that holds anything else is not touched.
//  5. Whoever only reads changes nothing: not an entry, not a signature, not a file. Readers may
//     read a folder at the same time; a recorder waits for those of its own process, and is refused
//     while another process reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"

namespace dpledger::local {

// Whether this build has them. In one without, both calls below are INVALID_ARGUMENT (path).
bool IsBuilt();

// A channel to the ledgers in `folder`, which is made with mode 0700 if there is none. When all
// copies of the pointer are gone, the folder is closed.
//
// INVALID_ARGUMENT (path) if the name is empty, is that of a file, or of a folder with something
// else in it; FAILED_PRECONDITION if another process has it open (STORE_IN_USE), after a fork of a
// process that had one open (FORKED), if its key is missing, of another store or exposed to others
// (SIGNING_KEY_MISSING, KEY_MISMATCH, KEY_FILE_EXPOSED), or if its second place is missing
// (CHECKPOINT_COPY_MISSING); DATA_LOSS if what it holds was changed or is damaged; UNAVAILABLE and
// errors of errno from the disk. Thread safe.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLedgers(const std::string& folder);

struct ReadOptions {
  // Whether lists show what each ledger costs, which is computed before the first list is given.
  bool summaries = false;
};

struct Reading {
  // Every call that writes is FAILED_PRECONDITION (READ_ONLY). When all copies of the pointer are
  // gone, the ledgers are closed.
  std::shared_ptr<grpc::Channel> channel;
  // Of every answer: what could not be checked.
  std::vector<std::string> assumptions;
  // Full names, by name, without those that a server keeps for itself.
  std::vector<std::string> ledgers;
  std::string dataset;      // that all of them declare; empty: they declare several
  bool in_bundles = false;  // then there is no AuditService
};

// Ledgers at rest: those in a folder of OpenLedgers, in the folder of a server's embedded store, or
// in one or several bundles. A folder that this process has open is read as it is at that moment.
//
// INVALID_ARGUMENT (path) for what is none of these; NOT_FOUND if it is not there; errors of
// RestingFolder::Open and BundledLedgers::Open; FAILED_PRECONDITION (FORKED) as OpenLedgers. Thread
// safe.
absl::StatusOr<Reading> OpenToRead(const std::vector<std::string>& paths,
                                   const ReadOptions& options = {});

}  // namespace dpledger::local
