#include "server/questions/ledger_history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "accountant/event/event.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr size_t kReadEntries = 10'000;
constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

size_t BytesOf(const LedgerHistory& history) {
  constexpr size_t kFrontierBytes = 64 * sizeof(merkle::Hash);
  size_t bytes = sizeof(history) + kFrontierBytes;
  for (const auto& counted : history.history().Rounds()) {
    bytes += 2 * sizeof(counted);  // the round and its key
    for (const accountant::SumQuery& query : counted.round.queries)
      bytes += 2 * sizeof(query) + query.group.size();
  }
  for (const accountant::Mechanism& mechanism : history.history().Mechanisms()) {
    bytes += accountant::BytesOf(mechanism) + sizeof(uint64_t);
  }
  constexpr size_t kWriterBytes = 256;
  bytes += history.reader.writers().size() * kWriterBytes;
  for (const questions::HistoryReader::CorrectionAt& at : history.reader.corrections()) {
    bytes += sizeof(at) + at.correction.text().size();
  }
  return bytes;
}

void Chain(const merkle::Hash& leaf, merkle::Hash& chain) {
  chain = merkle::Sha256({merkle::ToBytes(chain), merkle::ToBytes(leaf)});
}

absl::Status AddEntry(std::string_view bytes, LedgerHistory& into) {
  const size_t mechanisms = into.reader.mechanism_sequences().size();
  RETURN_IF_ERROR(into.reader.Add(bytes));
  const merkle::Hash leaf = merkle::LeafHash(bytes);
  if (into.tree.size() == 0 || into.reader.mechanism_sequences().size() > mechanisms) {
    Chain(leaf, into.read_chain);
  }
  into.tree.Append(leaf);
  into.originals.resize(into.reader.originals());
  for (size_t i = 0; i < into.originals.size(); ++i) {
    const std::string_view copied = into.reader.CopiedEntry(i);
    if (copied.empty()) break;
    merkle::CompactTree& tree = into.originals[i];
    tree.Append(merkle::LeafHash(copied));
    const questions::HistoryReader::Original original = into.reader.OriginalAt(i);
    if (tree.size() == original.size && merkle::ToBytes(tree.Root()) != original.root_hash) {
      return absl::DataLossError(absl::StrCat("entry ", into.tree.size() - 1, ": the ",
                                              original.size,
                                              " copied entries do not have the original's root "
                                              "hash"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadOn(LedgerReader& store, const std::string& ledger, uint64_t size, size_t max_bytes,
                    const accountant::Limits& limits, LedgerHistory& into) {
  uint64_t measure_at = 2 * into.tree.size() + kReadEntries;
  while (into.tree.size() < size) {
    RETURN_IF_ERROR(limits.Check());
    const uint64_t first = into.tree.size();
    ASSIGN_OR_RETURN(
        const std::vector<std::string> entries,
        store.Read(ledger, first, std::min<uint64_t>(kReadEntries, size - first), kReadBytes));
    if (entries.empty()) {
      return absl::DataLossError(absl::StrCat(ledger, ": has no entry ", first, " of ", size));
    }
    for (const std::string& entry : entries) {
      if (absl::Status status = AddEntry(entry, into); !status.ok()) {
        return WithReason(absl::Status(status.code(), absl::StrCat(ledger, ": ", status.message())),
                          ReasonOf(status));
      }
    }
    // Measuring walks the whole history, so it is done each time the history may have doubled.
    if (into.tree.size() < measure_at && into.tree.size() < size) continue;
    measure_at = 2 * into.tree.size();
    into.bytes = BytesOf(into);
    if (into.bytes > max_bytes) {
      return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                            ledger, ": its first ", into.tree.size(), " entries hold more than ",
                            max_bytes, " bytes of distinct rounds and mechanisms")),
                        {"HISTORY_TOO_LARGE", {}});
    }
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
