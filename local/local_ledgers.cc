#include "local/local_ledgers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/evidence/signing_key_file.h"
#include "merkle/authenticator.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/desk/desk.h"
#include "server/grpc_door/grpc_door.h"
#include "server/ledger_service.h"
#include "server/log.h"
#include "server/receipt_signer.h"
#include "server/signed_root.h"
#include "server/signing.h"
#include "server/signing_loop.h"
#include "server/stored_history.h"

namespace dpledger::local {
namespace {

namespace fs = std::filesystem;

// The store's folder in ours. Its key and its second place stand beside it
// (SigningOptions::Beside).
constexpr char kStore[] = "store";
constexpr char kStoreFiles[] = "store.";

constexpr absl::Duration kLongestClose = absl::Seconds(10);

absl::Status PathError(const std::string& rule) { return FieldError("path", rule); }

// Makes the folder if there is none. INVALID_ARGUMENT if it is somebody else's.
absl::Status PrepareFolder(const std::string& folder) {
  if (folder.empty()) return PathError("must name a folder, got nothing");
  struct stat found = {};
  if (::stat(folder.c_str(), &found) != 0) {
    if (errno != ENOENT) return ErrnoError(errno, "look at", folder);
    std::error_code error;
    fs::path place = fs::path(folder).lexically_normal();
    if (!place.has_filename()) place = place.parent_path();  // "run.ledger/"
    const fs::path parent = place.parent_path();
    if (!parent.empty()) fs::create_directories(parent, error);
    if (error) return ErrnoError(error.value(), "create", parent.string());
    // Of two processes that begin at the same time, one makes it.
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoError(errno, "create", folder);
    }
    return SyncDirectory(parent.empty() ? "." : parent.string());
  }
  if (!S_ISDIR(found.st_mode)) {
    return PathError(absl::StrCat("must be a folder, or nothing yet, got the file ", folder));
  }
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator next(folder, error), end; !error && next != end;
       next.increment(error)) {
    names.push_back(next->path().filename().string());
  }
  if (error) return ErrnoError(error.value(), "list", folder);
  const auto is_ours = [](const std::string& name) {
    return name == kStore || absl::StartsWith(name, kStoreFiles);
  };
  if (names.empty() || std::any_of(names.begin(), names.end(), is_ours)) return absl::OkStatus();
  return PathError(absl::StrCat("must be the folder of a ledger, an empty one, or nothing yet; ",
                                folder, " holds something else (",
                                *std::min_element(names.begin(), names.end()), ")"));
}

bool IsEmptyOrMissing(const std::string& folder) {
  std::error_code error;
  const bool is_empty = fs::is_empty(folder, error);
  return error ? error == std::errc::no_such_file_or_directory : is_empty;
}

absl::Status InUse(const std::string& folder) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "path: another process has ", folder,
                        " open; wait until it has ended, or give this one a folder of its own")),
                    {"STORE_IN_USE", {{"field", "path"}, {"folder", folder}}});
}

// One open folder.
class Ledgers {
 public:
  static absl::StatusOr<std::unique_ptr<Ledgers>> Open(const std::string& folder);
  ~Ledgers();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  explicit Ledgers(const std::string& store_folder)
      : options_(server::SigningOptions::Beside(store_folder)) {
    options_.store_folder = store_folder;
  }

  absl::Status Start();

  // A trainer's stderr is its user's: it is told of errors alone.
  const server::Log log_{server::LogLevel::kError, STDERR_FILENO};
  server::SigningOptions options_;
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<Notary> notary_;
  std::unique_ptr<server::SigningLoop> signing_;
  std::unique_ptr<server::ReceiptSigner> receipts_;
  std::unique_ptr<server::LedgerService> ledgers_;
  std::unique_ptr<server::AccountingService> accounting_;
  std::unique_ptr<server::AuditService> audit_;
  std::unique_ptr<server::Desk> desk_;
  std::unique_ptr<server::GrpcDoor> door_;
  std::shared_ptr<grpc::Channel> channel_;
};

absl::StatusOr<std::unique_ptr<Ledgers>> Ledgers::Open(const std::string& folder) {
  std::unique_ptr<Ledgers> ledgers(new Ledgers(absl::StrCat(folder, "/", kStore)));
  const absl::Status started = ledgers->Start();
  if (ReasonOf(started).reason == "STORE_IN_USE") return InUse(folder);
  RETURN_IF_ERROR(started);
  return ledgers;
}

absl::Status Ledgers::Start() {
  const auto open = [this](const HeadKeys& keys) {
    return OpenEmbeddedStore({.folder = options_.store_folder, .keys = keys});
  };
  ASSIGN_OR_RETURN(
      store_, server::OpenUnderKey(options_, IsEmptyOrMissing(options_.store_folder), open, log_));
  ASSIGN_OR_RETURN(notary_, server::OpenNotary(options_, *store_, log_));
  ASSIGN_OR_RETURN(merkle::Ed25519PrivateKey read, ReadSigningKey(options_.key_file));
  const auto key = std::make_shared<const merkle::Ed25519PrivateKey>(std::move(read));
  signing_ = std::make_unique<server::SigningLoop>(notary_.get(), options_.every, &log_);
  receipts_ = std::make_unique<server::ReceiptSigner>(key, notary_->OwnKey().name);
  ledgers_ = std::make_unique<server::LedgerService>(store_.get(), signing_.get(), receipts_.get());
  accounting_ = std::make_unique<server::AccountingService>(
      store_.get(), server::AccountingLimits(), server::SignedRootOf(store_.get(), signing_.get()),
      server::TableKeeping{std::make_shared<merkle::Authenticator>(*key, server::kHistoryPurpose),
                           &log_});
  audit_ = std::make_unique<server::AuditService>(store_.get(), signing_.get());
  desk_ = std::make_unique<server::Desk>(
      server::DeskOptions(),
      server::Services{
          .ledgers = ledgers_.get(), .accounting = accounting_.get(), .audit = audit_.get()},
      /*identifier=*/nullptr, /*authorizer=*/nullptr, &log_);
  desk_->health().SetServing(true);
  ASSIGN_OR_RETURN(door_, server::GrpcDoor::Open(server::GrpcDoorOptions(), desk_.get()));
  channel_ = door_->InProcess();
  return absl::OkStatus();
}

// From the outside in, as a server stops.
Ledgers::~Ledgers() {
  channel_.reset();
  if (desk_ != nullptr) desk_->Close(absl::Now() + kLongestClose);
  if (door_ != nullptr) door_->Close();
  if (signing_ == nullptr) return;
  const bool signs = signing_->failure().ok();
  signing_.reset();
  // What is left at rest is signed whole: nobody can take off its end without being noticed.
  absl::StatusOr<SigningRound> round = SigningRound{.more = signs};
  while (round.ok() && round->more) round = notary_->Sign();
  absl::Status closed = round.status();
  closed.Update(notary_->Release());
  if (closed.ok()) return;
  log_.Write(server::LogLevel::kError, "close_failed",
             {{"store", options_.store_folder}, {"message", std::string(closed.message())}});
}

// The folders that this process has open.
class OpenFolders {
 public:
  // Never destroyed: channels may live until the process ends.
  static OpenFolders& OfProcess() {
    static auto* const kAll = new OpenFolders;
    return *kAll;
  }

  absl::StatusOr<std::shared_ptr<grpc::Channel>> Get(const std::string& folder) {
    RETURN_IF_ERROR(CheckNoFork());
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(PrepareFolder(folder));
    std::error_code error;
    const std::string key = fs::canonical(folder, error).string();
    if (error) return ErrnoError(error.value(), "look at", folder);
    auto found = open_.find(key);
    if (found == open_.end()) {
      ASSIGN_OR_RETURN(std::unique_ptr<Ledgers> opened, Ledgers::Open(folder));
      found = open_.emplace(key, Shared{std::move(opened)}).first;
    }
    ++found->second.users;
    grpc::Channel* const channel = found->second.ledgers->channel().get();
    return std::shared_ptr<grpc::Channel>(channel, [this, found](grpc::Channel*) { Leave(found); });
  }

 private:
  struct Shared {
    std::unique_ptr<Ledgers> ledgers;
    size_t users = 0;
  };
  using Open = std::map<std::string, Shared>;

  // Closes under the lock: who opens the folder next finds it closed.
  void Leave(Open::iterator folder) {
    absl::MutexLock lock(&mutex_);
    if (--folder->second.users == 0) open_.erase(folder);
  }

  // gRPC and the store live on threads that a forked child does not have.
  absl::Status CheckNoFork() {
    const pid_t self = ::getpid();
    pid_t first = 0;
    if (process_.compare_exchange_strong(first, self) || first == self) return absl::OkStatus();
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "path: this process is a fork of ", first,
                          ", which has had a ledger open; open it there, or start workers afresh "
                          "(spawn)")),
                      {"FORKED", {{"field", "path"}}});
  }

  std::atomic<pid_t> process_ = 0;  // the first that opened a folder
  absl::Mutex mutex_;
  Open open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLedgers(const std::string& folder) {
  return OpenFolders::OfProcess().Get(folder);
}

}  // namespace dpledger::local
