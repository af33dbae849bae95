#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "cli/bundle_check.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/ledger_place.h"
#include "cli/progress.h"
#include "cli/trust_flags.h"
#include "events/names.h"
#include "ledger_store/bundle/difference.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/members.h"
#include "ledger_store/bundle/served_ledger.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::cli {
namespace {

constexpr char kWriter[] = "import";
constexpr int kMaxBatchEntries = 1000;
constexpr size_t kMaxBatchBytes = size_t{1} << 20;
constexpr size_t kMaxCheckpointBytes = 16'384;

struct ImportFlags {
  std::string file;
  std::string ledger;
  WritePlace place;
  std::string name;
  TrustFlags trust;
};

// What is read of a bundle after it was verified.
struct Copied {
  std::string checkpoint;
  uint64_t size = 0;
  size_t largest_entry = 0;
  merkle::Hash root = {};
};

// Reads the entries of a bundle, one after the other, and its checkpoint. Whether they are what was
// verified shows in the root.
absl::StatusOr<Copied> ReadEntries(bundle::FileSource& file,
                                   const std::function<absl::Status(std::string_view)>& take) {
  RETURN_IF_ERROR(file.Rewind());
  bundle::UstarReader reader(&file);
  merkle::CompactTree tree;
  Copied copied;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<bundle::UstarMember> member, reader.Next());
    if (!member.has_value()) break;
    const absl::StatusOr<merkle::ParsedTilePath> path = merkle::ParseTilePath(member->name);
    const bool entries = path.ok() && path->entries;
    if (!entries && member->name != bundle::kCheckpointMember) continue;
    if (member->size > bundle::kMaxEntriesBytes) {
      return bundle::NoBundle(member->name, "is too large");
    }
    ASSIGN_OR_RETURN(const std::string content, reader.Content());
    if (!entries) {
      copied.checkpoint = content;
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string_view> views,
                     merkle::DecodeEntryBundle(content, path->tile.width));
    for (const std::string_view entry : views) {
      copied.largest_entry = std::max(copied.largest_entry, entry.size());
      tree.Append(merkle::LeafHash(entry));
      RETURN_IF_ERROR(take(entry));
    }
  }
  copied.size = tree.size();
  copied.root = tree.Root();
  return copied;
}

// How many bytes a copied entry has more than the entry that it holds, at most.
size_t WrappingBytes(const std::string& request_id) {
  v1::LedgerEntry entry;
  entry.set_sequence(std::numeric_limits<uint64_t>::max());
  entry.set_writer(kWriter);
  entry.set_writer_counter(std::numeric_limits<uint64_t>::max());
  entry.set_request_id(request_id + ".999999999999");
  entry.mutable_recorded_time()->set_seconds(std::numeric_limits<int64_t>::max());
  entry.mutable_imported()->set_entry(std::string(merkle::kMaxEntryBytes, 'x'));
  return entry.ByteSizeLong() - merkle::kMaxEntryBytes;
}

absl::Status CheckFits(const Copied& copied, const std::string& request_id,
                       const std::string& path) {
  const size_t most = merkle::kMaxEntryBytes - WrappingBytes(request_id);
  if (copied.largest_entry > most) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has an entry of ", copied.largest_entry,
                                                   " bytes; of a copy an entry may have at most ",
                                                   most));
  }
  if (copied.checkpoint.size() <= kMaxCheckpointBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": its checkpoint has ", copied.checkpoint.size(),
                   " bytes, of a copy it may have ", kMaxCheckpointBytes));
}

// "projects/p/ledgers/x" at the end of the origin.
absl::StatusOr<std::string> NameFromOrigin(const std::string& origin) {
  const size_t at = origin.find("/projects/");
  const absl::StatusOr<std::string> name =
      events::FullLedgerName(at == std::string::npos ? origin : origin.substr(at + 1));
  if (name.ok()) return name;
  return absl::InvalidArgumentError(
      absl::StrCat("--as: must be given, for ", bundle::Quoted(origin), " names no ledger"));
}

// Sends entries in batches whose ids and borders are a function of the bundle: what an interrupted
// import has stored is not stored again.
class Copier {
 public:
  // The first `stored` entries are there already.
  Copier(std::string ledger, std::string request_id, uint64_t size, uint64_t stored,
         ServerCalls* server)
      : request_id_(std::move(request_id)), size_(size), stored_(stored), server_(*server) {
    batch_.set_ledger(std::move(ledger));
    batch_.set_writer(kWriter);
  }

  absl::Status Add(std::string_view entry) {
    if (batch_.entries_size() == kMaxBatchEntries || bytes_ + entry.size() > kMaxBatchBytes) {
      RETURN_IF_ERROR(Send());
    }
    batch_.add_entries()->mutable_imported()->set_entry(std::string(entry));
    bytes_ += entry.size();
    return absl::OkStatus();
  }

  absl::Status Send() {
    if (batch_.entries_size() == 0) return absl::OkStatus();
    batch_.set_request_id(absl::StrCat(request_id_, ".", ++batches_));
    sent_ += static_cast<uint64_t>(batch_.entries_size());
    if (sent_ > stored_) RETURN_IF_ERROR(server_.Append(batch_).status());
    batch_.clear_entries();
    bytes_ = 0;
    progress_.Show(sent_, size_);
    return absl::OkStatus();
  }

  absl::Status Close() {
    batch_.set_request_id(request_id_ + ".close");
    batch_.add_entries()->mutable_writer_closed()->set_entry_count(size_ + 1);
    return server_.Append(batch_).status();
  }

 private:
  const std::string request_id_;
  const uint64_t size_;
  const uint64_t stored_;
  ServerCalls& server_;
  Progress progress_{"sent"};
  v1::AppendBatchRequest batch_;
  size_t bytes_ = 0;
  uint64_t batches_ = 0;
  uint64_t sent_ = 0;
};

// A folder that is removed with the object.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Make() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "dpledger-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) return ErrnoError(errno, "create", name);
    return ScratchFolder(std::move(name));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : name_(std::exchange(other.name_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!name_.empty()) std::filesystem::remove_all(name_, ignored);
  }
  const std::string& name() const { return name_; }

 private:
  explicit ScratchFolder(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

// The bundle of a ledger in a folder, as a file in `scratch`.
absl::StatusOr<std::string> BundleOf(const ImportFlags& flags, const ScratchFolder& scratch) {
  LedgerPlace place;
  place.stores.push_back(flags.file);
  ServerCalls calls(place);
  ASSIGN_OR_RETURN(const std::string name, calls.NameOr(flags.ledger, "--ledger"));
  std::string path = scratch.name() + "/bundle";
  ASSIGN_OR_RETURN(bundle::NewFile file, bundle::NewFile::Make(path));
  RETURN_IF_ERROR(bundle::ExportLedger(name, calls, file).status());
  return path;
}

absl::Status ImportFile(const ImportFlags& flags, Output& out);

// The key of a folder is its owner's, and lies beside it: a reader of the folder need not pin it.
absl::Status Import(const ImportFlags& flags, Output& out) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(flags.file, ignored)) {
    if (flags.ledger.empty()) return ImportFile(flags, out);
    return absl::InvalidArgumentError(
        absl::StrCat("--ledger: is for a folder, and ", flags.file, " is a bundle of one ledger"));
  }
  ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Make());
  ImportFlags of_bundle = flags;
  ASSIGN_OR_RETURN(of_bundle.file, BundleOf(flags, scratch));
  of_bundle.trust.self_signed = true;
  return ImportFile(of_bundle, out);
}

absl::Status ImportFile(const ImportFlags& flags, Output& out) {
  ASSIGN_OR_RETURN(bundle::VerifierOptions options, flags.trust.Options());
  ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(flags.file));
  LedgerCheck check(options, 0);
  RETURN_IF_ERROR(check.VerifyFile(file));
  const bundle::EvidenceCheck& evidence = check.verifier().evidence();
  RETURN_IF_ERROR(flags.trust.CheckTrust(evidence));
  std::string name = flags.name;
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, NameFromOrigin(evidence.checkpoint().origin));
  }

  const auto pass = [](std::string_view) { return absl::OkStatus(); };
  ASSIGN_OR_RETURN(const Copied copied, ReadEntries(file, pass));
  const std::string digest = HexEncode(merkle::ToBytes(merkle::Sha256({copied.checkpoint})));
  const std::string request_id = absl::StrCat("import-", digest.substr(0, 24));
  RETURN_IF_ERROR(CheckFits(copied, request_id, flags.file));

  v1::CreateLedgerRequest create;
  create.set_name(name);
  create.set_request_id(request_id);
  v1::Import& import = *create.mutable_import();
  import.set_origin(evidence.checkpoint().origin);
  import.set_size(evidence.checkpoint().size);
  import.set_root_hash(merkle::ToBytes(evidence.checkpoint().root));
  import.set_checkpoint(copied.checkpoint);
  *import.mutable_declaration() = check.rules().declaration();
  SetInterruptNote(
      "interrupted; what was copied stays. Repeat the command to have the rest copied, "
      "and nothing copied twice");
  ServerCalls server(flags.place);
  ASSIGN_OR_RETURN(const v1::Ledger made, server.Ask(create));
  ASSIGN_OR_RETURN(const v1::Ledger now, server.Get(name));
  if (now.state() != v1::SEALED) {
    Copier copier(name, request_id, copied.size, now.size() - 1, &server);
    ASSIGN_OR_RETURN(const Copied again,
                     ReadEntries(file, [&](std::string_view entry) { return copier.Add(entry); }));
    RETURN_IF_ERROR(copier.Send());
    if (again.root != evidence.checkpoint().root) {
      return absl::DataLossError(
          absl::StrCat(flags.file, ": changed while it was read; ", name, " stays unfinished"));
    }
    RETURN_IF_ERROR(copier.Close());
  }
  v1::SealLedgerRequest seal;
  seal.set_name(name);
  seal.set_request_id(request_id + ".seal");
  return out.Answer(server.Ask(seal));
}

}  // namespace

void AddImportCommand(flags::App& ledger, Command& chosen) {
  auto [command, flags] = AddCommand(
      ledger, "import",
      "Makes a sealed copy of a ledger from a bundle or a folder, verified first. The copy names "
      "its origin. Repeat the command after an interruption: nothing is copied twice.",
      "  dpledger ledger import mnist.bundle --server 127.0.0.1:7070 --key-file server.keys\n"
      "  dpledger ledger import mnist.bundle --server 127.0.0.1:7070 --as copy-of-mnist\n"
      "  dpledger ledger import run.ledger --server 127.0.0.1:7070\n"
      "  dpledger ledger import run.bundle --store mine.ledger --self-signed",
      Import, chosen);
  command.add_option("FILE", flags.file, "a bundle, or the folder of a recorder's ledgers")
      ->required();
  AddLedgerName(command, "--ledger", flags.ledger, "which one of a folder with several");
  flags.place.makes = true;
  flags.place.AddTo(command);
  AddLedgerName(command, "--as", flags.name, "the copy's name; default: the original's");
  flags.trust.AddTo(command);
}

}  // namespace dpledger::cli
