// Gathers the rows that can still be read in a damaged store's folder: each table file by itself,
// and then every whole record of the logs, into a database of their own.
//
//  1. Every row matches the checksum of its block or log record.
//  2. A damaged block loses its own rows. Two may lose the blocks between them too. A table file
//     whose footer or index is damaged is lost.
//  3. The store only adds rows, or replaces checkpoints and tiles by larger ones. So the latest of
//     these is told without knowing the order of the tables. Heads, summaries and run-length tables
//     are those of any moment.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

// `to` is a folder that is made. Damage is no error: FsckFolder names it. Errors of the disk.
absl::StatusOr<std::unique_ptr<rocksdb::DB>> GatherRows(const std::string& folder,
                                                        const std::string& to);

}  // namespace dpledger::embedded
