// What the embedded store reads back of itself: a request's entries, a writer's head, and the head
// that is made of them.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "dpledger/v1/stored.pb.h"
#include "ledger/batch_row.h"
#include "ledger/stored_head.h"
#include "ledger_store/embedded/keys.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

void TakeBatch(std::string_view input) {
  const auto entries = DecodeBatchRow(input);
  if (!entries.has_value()) return;
  std::string row;
  for (const std::string_view entry : *entries) {
    row.append(kEntryLengthBytes, '\0');
    const size_t begin = row.size();
    row += entry;
    SetEntryLength(begin, row);
  }
  FUZZ_CHECK(row == input);
}

void TakeHead(std::string_view input) {
  embedded::HeadRow row;
  if (!row.ParseFrom(input)) return;
  if (row.writer.ByteSizeLong() > 0xffff) return;  // longer than any name makes it
  embedded::HeadRow again;
  FUZZ_CHECK(again.ParseFrom(row.Serialize()));
  FUZZ_CHECK(again.Serialize() == row.Serialize());
  v1::LedgerEntry entry;
  entry.mutable_declaration()->set_dataset("adult");
  const std::string first = entry.SerializeAsString();
  const std::map<std::string, v1::WriterStatus> read = {{row.writer.writer(), row.writer}};
  const auto head = FromStored("projects/p/ledgers/a", first, row.head, read);
  if (!head.ok()) return;
  // Nobody can make an authenticator without the key.
  static const auto& key =
      *new std::shared_ptr<const merkle::Authenticator>(std::make_shared<merkle::Authenticator>(
          *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')), kHeadPurpose));
  FUZZ_CHECK(!FromStored("projects/p/ledgers/a", first, row.head, read, {key, nullptr}).ok());
  (void)Describe(*head);
  std::map<std::string, v1::WriterStatus> writers;
  for (const v1::WriterStatus& writer : head->writers) writers[writer.writer()] = writer;
  const auto stored = FromStored(head->name, first, ToStored(*head), std::move(writers));
  FUZZ_CHECK(stored.ok() && stored->tree.Root() == head->tree.Root());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  KeepProtobufQuiet();
  std::string_view input = Text(data, size);
  if (TakeChoice(input) % 2 == 0) {
    TakeBatch(input);
  } else {
    TakeHead(input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
