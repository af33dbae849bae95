// Stored run-length tables of histories: what is accepted is what would be written, and goes on.
#include "questions/history_table.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  v1::StoredHistory table;
  if (!table.ParseFromArray(data, static_cast<int>(size))) return 0;
  auto history = questions::FromTable(table, {});
  if (!history.ok()) return 0;
  v1::StoredHistory again = table;
  questions::ToTable(*history, again);
  FUZZ_CHECK(again.SerializeAsString() == table.SerializeAsString());
  return 0;
}

}  // namespace dpledger::fuzz
