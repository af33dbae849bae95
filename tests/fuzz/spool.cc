// Spool files: bytes from a disk, and records of our own that a power cut shortened.
#include "client/internal/spool_format.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

using namespace client::internal;

void CheckPayload(std::string_view payload) {
  if (const auto header = DecodeHeader(payload); header.has_value()) {
    const std::string bytes = EncodeHeader(*header);
    const auto again = DecodeHeader(bytes);
    FUZZ_CHECK(again.has_value() && EncodeHeader(*again) == bytes);
  }
  if (const auto acknowledgement = DecodeAcknowledgement(payload); acknowledgement.has_value()) {
    FUZZ_CHECK(EncodeAcknowledgement(*acknowledgement) == payload);
  }
}

// Every record that is read is spelled as it would be written.
void ReadFile(std::string_view file, Tail tail) {
  Digest chain{};
  for (size_t offset = 0; offset <= file.size();) {
    Digest before = chain;
    const auto record = DecodeRecord(file, offset, tail, chain);
    if (!record.ok() || !record->has_value()) return;
    FUZZ_CHECK(EncodeRecord((*record)->kind, (*record)->payload, before) ==
               file.substr(offset, (*record)->size));
    CheckPayload((*record)->payload);
    offset += (*record)->size;
  }
}

// A file of two records, cut or with zeros from some place on, is a shorter file: neither damaged
// nor anything else.
void CutFile(std::string_view input, Tail tail) {
  const size_t cut = static_cast<size_t>(TakeChoice(input)) << 8 | TakeChoice(input);
  const bool zeros = TakeChoice(input) % 2 == 1;
  Digest chain{};
  std::string file = EncodeRecord(RecordKind::kHeader, input.substr(0, input.size() / 2), chain);
  const size_t first = file.size();
  file += EncodeRecord(RecordKind::kBatch, input.substr(input.size() / 2), chain);
  const size_t kept = cut % (file.size() + 1);
  const size_t full = file.size();
  file.resize(kept);
  // A lost sector is lost as a whole.
  if (zeros && kept % 512 == 0) file.resize(full, '\0');
  Digest read{};
  const auto record = DecodeRecord(file, 0, tail, read);
  FUZZ_CHECK(record.ok());
  if (kept >= first) {
    FUZZ_CHECK(record->has_value());
    FUZZ_CHECK((*record)->payload == input.substr(0, input.size() / 2));
    FUZZ_CHECK(DecodeRecord(file, first, tail, read).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = Text(data, size);
  const int choice = TakeChoice(input);
  const Tail tail = choice % 2 == 0 ? Tail::kTorn : Tail::kHoles;
  if (choice / 2 % 3 == 0) {
    ReadFile(input, tail);
  } else if (choice / 2 % 3 == 1) {
    CutFile(input, tail);
  } else {
    CheckPayload(input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
