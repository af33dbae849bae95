// The row that a writer's last append left: what is known of the writer, and the ledger's head. The
// longest head of a ledger's rows is its head, so that an append changes one row and not two.
// Value: the length of the WriterStatus (2 bytes, big-endian), the WriterStatus, the StoredHead.
#pragma once

#include <string>
#include <string_view>

#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"

namespace dpledger::embedded {

struct HeadRow {
  v1::WriterStatus writer;
  v1::StoredHead head;

  std::string Serialize() const;
  // False if `value` is no such row.
  bool ParseFrom(std::string_view value);
};

}  // namespace dpledger::embedded
