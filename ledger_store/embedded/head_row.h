// The row of a writer's last append: the writer's status and the ledger's head after it. The
// longest head in a ledger's rows is the ledger's head; so an append changes one row, not two.
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
  // False if `value` is not such a row.
  bool ParseFrom(std::string_view value);
};

}  // namespace dpledger::embedded
