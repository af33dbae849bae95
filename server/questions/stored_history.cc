#include "server/questions/stored_history.h"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "events/event_values.h"
#include "events/writer_rules.h"
#include "google/protobuf/util/message_differencer.h"
#include "ledger/request_rules.h"
#include "questions/history_table.h"

namespace dpledger::server {
namespace {

constexpr uint32_t kVersion = 1;
constexpr int kMaxMechanisms = 100'000;
constexpr size_t kMaxTableBytes = size_t{16} << 20;
// Mechanisms are read again in runs: so many other entries between two are read with them.
constexpr uint64_t kGap = 16;
constexpr size_t kRunEntries = 1000;
constexpr size_t kReadBytes = size_t{1} << 20;

absl::Status DoesNotFit(const v1::Ledger& ledger, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(ledger.name(), ": its run-length table does not fit it: ", what));
}

absl::StatusOr<merkle::CompactTree> TreeOf(const v1::StoredHistory& table) {
  return merkle::CompactTree::FromFrontier(table.size(), table.frontier());
}

// The entry itself, or the one that it copies.
absl::StatusOr<v1::LedgerEntry> EntryOf(const std::string& bytes, bool is_copy) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(bytes)) return absl::DataLossError("an entry does not parse");
  if (!is_copy) return entry;
  v1::LedgerEntry copied;
  if (!entry.has_imported() || !copied.ParseFromString(entry.imported().entry())) {
    return absl::DataLossError("an entry is no copied one");
  }
  return copied;
}

// Whose tables these are: the ledger, and the entries of which they were made.
bool IsAuthentic(const merkle::Authenticator& key, const std::string& ledger,
                 const merkle::CompactTree& tree, const v1::StoredHistory& table) {
  v1::StoredHistory content = table;
  content.clear_authenticator();
  return key.Holds(table.authenticator(),
                   {ledger, absl::StrCat(tree.size()), merkle::ToBytes(tree.Root()),
                    SerializeDeterministically(content)});
}

// The body of an entry 0.
v1::LedgerEntry BodyOfFirst(const v1::LedgerEntry& entry) {
  v1::LedgerEntry first;
  if (entry.has_fork()) *first.mutable_fork() = entry.fork();
  if (entry.has_declaration()) *first.mutable_declaration() = entry.declaration();
  if (entry.has_import()) *first.mutable_import() = entry.import();
  return first;
}

// What is read again beside a table.
struct ReadAgain {
  v1::LedgerEntry first;
  std::vector<accountant::Mechanism> mechanisms;
  merkle::Hash chain = {};
};

absl::Status TakeMechanism(const v1::Ledger& ledger, uint64_t sequence, const std::string& bytes,
                           ReadAgain& into) {
  const absl::StatusOr<v1::LedgerEntry> entry = EntryOf(bytes, ledger.has_import());
  if (entry.ok() && (entry->has_event() || entry->has_late_event())) {
    const auto event =
        events::ValueOf(entry->has_event() ? entry->event() : entry->late_event().event());
    if (event.ok() && std::holds_alternative<accountant::Mechanism>(*event)) {
      into.mechanisms.push_back(std::get<accountant::Mechanism>(*event));
      return absl::OkStatus();
    }
  }
  return DoesNotFit(ledger, absl::StrCat("entry ", sequence, " holds no mechanism"));
}

absl::Status TakeAgain(const v1::Ledger& ledger, uint64_t sequence, const std::string& bytes,
                       ReadAgain& into) {
  Chain(merkle::LeafHash(bytes), into.chain);
  if (sequence > 0) return TakeMechanism(ledger, sequence, bytes, into);
  v1::LedgerEntry entry;
  if (!entry.ParseFromString(bytes)) return DoesNotFit(ledger, "entry 0 does not parse");
  into.first = BodyOfFirst(entry);
  return absl::OkStatus();
}

absl::StatusOr<ReadAgain> ReadEntries(LedgerReader& store, const v1::Ledger& ledger,
                                      const v1::StoredHistory& table) {
  std::vector<uint64_t> sequences = {0};
  sequences.insert(sequences.end(), table.mechanism_sequences().begin(),
                   table.mechanism_sequences().end());
  ReadAgain read;
  size_t next = 0;
  while (next < sequences.size()) {
    const uint64_t first = sequences[next];
    size_t end = next + 1;
    while (end < sequences.size() && sequences[end] - sequences[end - 1] <= kGap &&
           sequences[end] - first < kRunEntries) {
      ++end;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                     store.Read(ledger.name(), first, sequences[end - 1] - first + 1, kReadBytes));
    if (entries.empty()) return DoesNotFit(ledger, absl::StrCat("no entry ", first));
    // A read may end early for its bytes, but not before its first entry.
    while (next < end && sequences[next] - first < entries.size()) {
      const uint64_t sequence = sequences[next++];
      RETURN_IF_ERROR(TakeAgain(ledger, sequence, entries[sequence - first], read));
    }
  }
  if (merkle::ToBytes(read.chain) == table.read_chain()) return read;
  return DoesNotFit(ledger, "entry 0 or a mechanism is not the one that it was made of");
}

absl::Status CheckSequences(const v1::Ledger& ledger, const v1::StoredHistory& table) {
  if (table.mechanism_sequences_size() > kMaxMechanisms) {
    return DoesNotFit(ledger, "mechanism_sequences: too many");
  }
  for (int i = 0; i < table.mechanism_sequences_size(); ++i) {
    if (table.mechanism_sequences(i) >= table.size() || table.mechanism_sequences(i) == 0 ||
        (i > 0 && table.mechanism_sequences(i) <= table.mechanism_sequences(i - 1))) {
      return DoesNotFit(ledger, absl::StrCat("mechanism_sequences[", i, "]: is out of order"));
    }
  }
  return absl::OkStatus();
}

// The writers count the entries of the table, and open rounds are theirs. (Of a copy they are the
// original's: it has one entry less, and this ledger's end may have others.)
absl::Status CheckWriters(const v1::Ledger& ledger, const v1::StoredHistory& table) {
  uint64_t entries = 0;
  std::map<std::string, const v1::WriterStatus*> owners;
  for (const v1::WriterStatus& writer : table.writers()) {
    entries += writer.entry_count();
    owners[events::EpochOwner(writer)] = &writer;
  }
  if (entries != (ledger.has_import() ? ledger.import().size() : table.size())) {
    return DoesNotFit(ledger, absl::StrCat("writers: count ", entries, " entries"));
  }
  for (const v1::StoredRounds& open : table.open()) {
    if (absl::StrContains(open.writer(), "#late#")) continue;
    const auto owner = owners.find(open.writer());
    if (owner == owners.end() || open.number() > owner->second->last_round()) {
      return DoesNotFit(ledger, absl::StrCat("open: writer \"", open.writer(), "\" has no round ",
                                             open.number()));
    }
  }
  return absl::OkStatus();
}

// Entry 0 as far as a description of the ledger has it.
v1::LedgerEntry FirstOf(const v1::Ledger& ledger) {
  v1::LedgerEntry first;
  if (ledger.has_fork()) {
    *first.mutable_fork() = ledger.fork();
    *first.mutable_fork()->mutable_declaration() = ledger.declaration();
  } else if (ledger.has_import()) {
    *first.mutable_import() = ledger.import();
    *first.mutable_import()->mutable_declaration() = ledger.declaration();
  } else {
    *first.mutable_declaration() = ledger.declaration();
  }
  return first;
}

}  // namespace

void Authenticate(const merkle::Authenticator& key, const std::string& ledger,
                  v1::StoredHistory& table) {
  const absl::StatusOr<merkle::CompactTree> tree = TreeOf(table);
  if (!tree.ok()) return;  // not of ToStored
  table.clear_authenticator();
  table.set_authenticator(key.Of({ledger, absl::StrCat(tree->size()), merkle::ToBytes(tree->Root()),
                                  SerializeDeterministically(table)}));
}

std::optional<v1::StoredHistory> ToStored(const LedgerHistory& history) {
  const questions::HistoryReader& reader = history.reader;
  if (reader.originals() > 1 || !reader.CheckComplete().ok()) return std::nullopt;
  if (reader.mechanism_sequences().size() > static_cast<size_t>(kMaxMechanisms)) {
    return std::nullopt;
  }
  v1::StoredHistory table;
  table.set_version(kVersion);
  table.set_size(history.tree.size());
  table.set_frontier(history.tree.FrontierBytes());
  questions::ToTable(history.history(), table);
  for (const uint64_t sequence : reader.mechanism_sequences()) {
    table.add_mechanism_sequences(sequence);
  }
  table.set_stated_rounds(reader.stated_rounds());
  table.set_read_chain(merkle::ToBytes(history.read_chain));
  table.set_sealed(reader.originals() == 0 ? reader.sealed() : reader.OriginalAt(0).sealed);
  for (const auto& [name, writer] : reader.writers()) *table.add_writers() = writer;
  for (const questions::HistoryReader::CorrectionAt& at : reader.corrections()) {
    v1::StoredCorrection& stored = *table.add_corrections();
    stored.set_sequence(at.sequence);
    *stored.mutable_correction() = at.correction;
  }
  for (const auto& [ledger, grant] : reader.grants()) *table.add_grants() = grant;
  *table.mutable_retired_blocks() = reader.retired().blocks();
  table.set_sealed_whole(reader.seal().was_whole);
  table.set_late_after_seal(reader.seal().is_late);
  if (table.ByteSizeLong() > kMaxTableBytes) return std::nullopt;
  return table;
}

absl::StatusOr<LedgerHistory> FromStored(LedgerReader& store, const v1::Ledger& ledger,
                                         const merkle::Authenticator& key,
                                         const v1::StoredHistory& table) {
  if (table.version() != kVersion) {
    return DoesNotFit(ledger,
                      absl::StrCat("version: must be ", kVersion, ", got ", table.version()));
  }
  if (table.size() == 0 || table.size() > ledger.size()) {
    return DoesNotFit(ledger,
                      absl::StrCat("size: must be 1 to ", ledger.size(), ", got ", table.size()));
  }
  if (ledger.has_import() && table.size() <= ledger.import().size()) {
    return DoesNotFit(ledger, "size: ends before the copy is complete");
  }
  LedgerHistory history;
  const absl::StatusOr<merkle::CompactTree> tree = TreeOf(table);
  if (!tree.ok()) return DoesNotFit(ledger, tree.status().message());
  if (!IsAuthentic(key, ledger.name(), *tree, table)) {
    return DoesNotFit(ledger, table.authenticator().empty()
                                  ? "authenticator: is not set"
                                  : "authenticator: no server with this signing key made it");
  }
  history.tree = *tree;
  RETURN_IF_ERROR(CheckSequences(ledger, table));
  RETURN_IF_ERROR(CheckWriters(ledger, table));
  ASSIGN_OR_RETURN(ReadAgain read, ReadEntries(store, ledger, table));
  absl::StatusOr<accountant::History> rounds =
      questions::FromTable(table, std::move(read.mechanisms));
  if (!rounds.ok()) return DoesNotFit(ledger, rounds.status().message());
  questions::HistoryReader::Parts parts;
  parts.size = table.size();
  parts.history = *std::move(rounds);
  parts.mechanism_sequences = {table.mechanism_sequences().begin(),
                               table.mechanism_sequences().end()};
  parts.stated_rounds = table.stated_rounds();
  parts.first = std::move(read.first);
  for (const v1::WriterStatus& writer : table.writers()) parts.writers[writer.writer()] = writer;
  for (const v1::StoredCorrection& stored : table.corrections()) {
    parts.corrections.push_back({stored.sequence(), stored.correction()});
  }
  for (const v1::BudgetGrant& grant : table.grants()) parts.grants[grant.ledger()] = grant;
  *parts.retired.mutable_blocks() = table.retired_blocks();
  parts.seal = {table.sealed_whole(), table.late_after_seal()};
  if (ledger.has_import()) {
    const uint64_t size = ledger.import().size();
    parts.original = {size, ledger.import().root_hash(), size, table.sealed()};
  } else {
    parts.sealed = table.sealed();
  }
  history.reader = questions::HistoryReader::Resume(std::move(parts));
  history.originals.resize(history.reader.originals());
  history.read_chain = read.chain;
  history.table_size = table.size();
  history.bytes = BytesOf(history);
  return history;
}

absl::Status CheckDeclared(const v1::Ledger& ledger, const LedgerHistory& history) {
  v1::LedgerEntry first = history.reader.first();
  // Descriptions leave it out.
  if (first.has_import()) first.mutable_import()->clear_checkpoint();
  if (SerializeDeterministically(first) == SerializeDeterministically(FirstOf(ledger))) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(ledger.name(),
                   ": its head declares something else than its entry 0; the copy beside the "
                   "entries was changed"));
}

absl::Status CheckHistory(LedgerReader& store, const std::string& name,
                          const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const v1::Ledger ledger, store.Get(name));
  absl::StatusOr<v1::StoredHistory> table = store.GetHistory(name);
  if (absl::IsNotFound(table.status())) return absl::OkStatus();
  RETURN_IF_ERROR(table.status());
  if (table->size() > ledger.size()) {
    return DoesNotFit(
        ledger, absl::StrCat("size: must be at most ", ledger.size(), ", got ", table->size()));
  }
  LedgerHistory history;
  RETURN_IF_ERROR(
      ReadOn(store, name, table->size(), std::numeric_limits<size_t>::max(), limits, history));
  const std::optional<v1::StoredHistory> made = ToStored(history);
  if (!made.has_value()) return DoesNotFit(ledger, "of these entries no table is kept");
  table->clear_authenticator();  // an audit has no key
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(*table, *made)) return absl::OkStatus();
  const std::vector<std::string> lines = absl::StrSplit(differences, '\n');
  return DoesNotFit(ledger, absl::StrCat("its entries say otherwise: ", lines[0]));
}

}  // namespace dpledger::server
