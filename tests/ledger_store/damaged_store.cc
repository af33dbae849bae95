#include "tests/ledger_store/damaged_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/evidence/log_reader.h"
#include "merkle/base64.h"
#include "merkle/compact_tree.h"
#include "merkle/tile.h"

namespace dpledger {
namespace {

namespace fs = std::filesystem;

const std::string kSealed = "projects/p/ledgers/sealed";
const std::string kChild = "projects/p/ledgers/child";

// Makes the store, and keeps it.
class WholeStore : public SignedStore {
 public:
  void Make();
  void TestBody() override {}
  std::string folder() const { return StoreFolder(); }
  std::string checkpoint() const { return CheckpointPath(); }
  NotaryOptions NotaryOf(const std::string& checkpoint_file) {
    NotaryOptions options = Options();
    options.checkpoint_file = checkpoint_file;
    return options;
  }

  Truth truth;
};

void WholeStore::Make() {
  Create(kLedger);
  Create("projects/p/ledgers/b");
  Create(kSealed);
  AppendNotes(kLedger, 700);
  for (int i = 0; i < 300; ++i) {
    const std::string writer = i % 3 == 0 ? "x" : "y";
    ASSERT_TRUE(store_
                    ->Append(RoundBatch("projects/p/ledgers/b", writer, absl::StrCat("round-", i),
                                        static_cast<uint64_t>(i)))
                    .ok());
  }
  ASSERT_TRUE(store_->Seal(SealRequest(kSealed)).ok());
  MustOpen(Options(), *store_);
  OpenStore();  // writes the log into a table
  v1::ForkLedgerRequest fork;
  fork.set_name(kChild);
  fork.set_parent(kLedger);
  fork.set_parent_size(300);
  fork.set_request_id("fork");
  const auto entries = Entries(kLedger);
  ASSERT_TRUE(store_->Fork(fork, {300, TreeHash(entries, 0, 300)}).ok());
  AppendNotes(kChild, 300);
  v1::StoredHistory history;
  history.set_version(1);
  history.set_size(100);
  ASSERT_TRUE(store_->PutHistory("projects/p/ledgers/b", history).ok());
  MustOpen(Options(), *store_);
  OpenStore();
  auto notary = MustOpen(Options(), *store_);
  for (int i = 0; i < 40; ++i) {
    AppendNotes(kLedger, 5);
    AppendNotes(kChild, 3);
    if (i % 10 == 9) MustSign(*notary);
  }
  for (const char* log : {"", "projects/p/ledgers/a", "projects/p/ledgers/b",
                          "projects/p/ledgers/child", "projects/p/ledgers/sealed"}) {
    const SignedCheckpoint latest = Latest(*notary, log);
    truth.signed_size[log] = latest.checkpoint.size;
    truth.note[log] = latest.note;
  }
  for (int i = 0; i < 5; ++i) AppendNotes(kLedger, 3);  // not signed
  for (const auto& [log, size] : truth.signed_size) truth.entries[log] = Entries(log);
  store_.reset();
}

WholeStore* whole = nullptr;

}  // namespace

std::map<std::string, std::string> FilesIn(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] =
        std::string(std::istreambuf_iterator<char>(in), {});
  }
  return files;
}

void WriteTo(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string MemoryFolder() {
  return fs::is_directory("/dev/shm") ? "/dev/shm/" : ::testing::TempDir();
}

void DamagedStore::SetUpTestSuite() {
  whole = new WholeStore();
  whole->Make();
}
void DamagedStore::TearDownTestSuite() {
  delete whole;
  whole = nullptr;
}
const Truth& DamagedStore::truth() { return whole->truth; }

std::string DamagedStore::NewCopy() {
  const std::string copy = absl::StrCat(copies_.path(), "/", copy_count_++);
  fs::create_directory(copy);
  fs::copy(whole->folder(), StoreIn(copy));
  for (const char* suffix : {"", ".previous"}) {
    fs::copy(whole->checkpoint() + suffix, CheckpointIn(copy) + suffix);
  }
  return copy;
}

FsckReport DamagedStore::FsckOf(const std::string& copy) {
  FsckReport report;
  const absl::Status checked =
      embedded::FsckFolder(StoreIn(copy), {.checkpoint_file = CheckpointIn(copy)}, report);
  if (!checked.ok()) report.Add("fsck", checked);
  return report;
}

std::vector<std::string> DamagedStore::Texts(const FsckReport& report) {
  std::vector<std::string> texts;
  for (const Finding& finding : report.findings()) {
    texts.push_back(absl::StrCat(finding.place, ": ", finding.what));
  }
  return texts;
}

uint64_t DamagedStore::TrueEntries() {
  uint64_t count = 0;
  for (const auto& [log, entries] : truth().entries) count += log.empty() ? 0 : entries.size();
  return count;
}

DamagedStore::Saved DamagedStore::Recovered(const std::string& copy) {
  const std::string to = copy + ".saved";
  fs::remove_all(to);
  Saved saved;
  saved.recovered = embedded::Recover(
      {.folder = StoreIn(copy), .to = to, .fsck = {.checkpoint_file = CheckpointIn(copy)}});
  std::map<std::string, std::map<uint64_t, std::string>> entries;  // by ledger, that are saved
  std::error_code none;
  for (const auto& file : fs::recursive_directory_iterator(to, none)) {
    if (file.path().extension() != ".bundle") continue;
    const std::string name = fs::relative(file.path(), to).replace_extension().string();
    auto& of_ledger = entries[name];
    bundle::VerifierOptions options;
    options.entries = [&](std::string_view entry) {
      of_ledger.emplace(of_ledger.size(), entry);
      return absl::OkStatus();
    };
    bundle::Verifier verifier(options);
    auto source = bundle::FileSource::Open(file.path().string());
    EXPECT_EQ(bundle::VerifyBundle(*source, verifier), absl::OkStatus()) << name;
    saved.bundles[name] = of_ledger.size();
    saved.signed_count += of_ledger.size();
  }
  std::ifstream others(to + "/entries.jsonl");
  for (std::string line; std::getline(others, line);) {
    google::protobuf::Struct parsed;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &parsed).ok()) << line;
    auto& fields = *parsed.mutable_fields();
    std::string name = fields["ledger"].string_value();
    // Ids are given in the order of creation, names stand in another.
    const std::map<std::string, std::string> by_id = {{"ledger id 0", kLedger},
                                                      {"ledger id 1", "projects/p/ledgers/b"},
                                                      {"ledger id 2", kSealed},
                                                      {"ledger id 3", kChild}};
    if (by_id.contains(name)) name = by_id.at(name);
    const auto sequence = static_cast<uint64_t>(fields["sequence"].number_value());
    const auto bytes = merkle::Base64Decode(fields["bytes"].string_value());
    EXPECT_TRUE(entries[name].emplace(sequence, bytes.value_or("")).second) << line;
    saved.signed_count += fields["signed"].bool_value();
    EXPECT_TRUE(!fields["signed"].bool_value() || sequence < truth().signed_size.at(name)) << line;
  }
  for (const auto& [log, of_log] : truth().entries) {
    if (log.empty()) continue;
    for (size_t i = 0; i < of_log.size(); ++i) {
      const auto found = entries[log].find(i);
      const bool is_there = found != entries[log].end();
      EXPECT_TRUE(!is_there || found->second == of_log[i]) << log << " " << i;
      saved.missing += !is_there;
      saved.missing_bytes += is_there ? 0 : of_log[i].size();
    }
    EXPECT_TRUE(entries[log].empty() || entries[log].rbegin()->first < of_log.size()) << log;
  }
  EXPECT_EQ(entries.size(), truth().entries.size() - 1);
  return saved;
}

DamagedStore::Served DamagedStore::Serve(const std::string& copy) {
  Served served;
  auto store = OpenEmbeddedStore({.folder = StoreIn(copy)});
  served.open = store.status();
  if (!store.ok()) return served;
  const auto notary = Notary::Open(whole->NotaryOf(CheckpointIn(copy)), **store);
  served.open = notary.status();
  if (!notary.ok()) return served;
  const auto judge = [&](const absl::Status& status, bool is_true) {
    if (!status.ok()) {
      ++served.errors;
    } else if (!is_true) {
      ++served.wrong;
    }
  };
  for (const auto& [log, entries] : truth().entries) {
    const auto latest = (*store)->checkpoints().Latest(log);
    judge(latest.status(), latest.ok() && latest->note() == truth().note.at(log));
    if (log.empty()) {
      const auto read = (*store)->checkpoints().ReadRegistry(0, entries.size() + 1);
      judge(read.status(), read.ok() && *read == entries);
      continue;
    }
    const auto head = (*store)->Get(log);
    judge(head.status(),
          head.ok() && head->size() <= entries.size() &&
              head->size() >= truth().signed_size.at(log) &&
              head->root_hash() == merkle::ToBytes(TreeHash(entries, 0, head->size())));
    if (!head.ok()) continue;
    served.tail_missing += entries.size() - head->size();
    for (uint64_t next = 0; next < head->size(); next += 100) {
      const auto page = (*store)->Read(log, next, 100, size_t{1} << 20);
      bool is_true = page.ok() && page->size() == std::min<uint64_t>(100, head->size() - next);
      for (size_t i = 0; is_true && i < page->size(); ++i)
        is_true = (*page)[i] == entries[next + i];
      judge(page.status(), is_true);
    }
    LogReader reader(**store, log,
                     {{"origin",
                       truth().signed_size.at(log),
                       TreeHash(entries, 0, truth().signed_size.at(log)),
                       {}},
                      truth().note.at(log),
                      0});
    for (uint64_t index = 0; index < reader.size(); index += 97) {
      const auto proof = reader.ProveInclusion(index, reader.size());
      judge(proof.status(), proof.ok() && proof->leaf_hash == merkle::LeafHash(entries[index]));
    }
  }
  return served;
}

}  // namespace dpledger
