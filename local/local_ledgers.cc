#include "local/local_ledgers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/evidence/notary.h"
#include "local/bundled_ledgers.h"
#include "local/read_only_store.h"
#include "local/read_services.h"
#include "local/resting_folder.h"
#include "merkle/authenticator.h"
#include "server/desk/desk.h"
#include "server/grpc_door/grpc_door.h"
#include "server/log.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/questions/accounting_service.h"
#include "server/questions/filter_gate.h"
#include "server/questions/signed_root.h"
#include "server/questions/stored_history.h"
#include "server/services/audit_service.h"
#include "server/services/ledger_service.h"
#include "server/signing/receipt_signer.h"
#include "server/signing/signing.h"
#include "server/signing/signing_loop.h"

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

absl::Status InUse(const std::string& path, absl::string_view to_do) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("path: another process has ", path, " open; ", to_do)),
                    {"STORE_IN_USE", {{"field", "path"}, {"folder", path}}});
}

// All ledgers but those of the server itself.
absl::Status ForEach(LedgerReader& store, absl::FunctionRef<void(const v1::Ledger&)> take) {
  return store.ForEach("projects/-", [&](const v1::Ledger& ledger) {
    if (!server::IsOfServer(ledger.name())) take(ledger);
    return absl::OkStatus();
  });
}

// Says which ledgers there are.
absl::Status NameLedgers(LedgerReader& store, Reading& reading) {
  std::set<std::string> datasets;
  RETURN_IF_ERROR(ForEach(store, [&](const v1::Ledger& ledger) {
    reading.ledgers.push_back(ledger.name());
    datasets.insert(ledger.declaration().dataset());
  }));
  if (datasets.size() == 1) reading.dataset = *datasets.begin();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> LedgersOver(LedgerReader& store,
                                                     const std::string& dataset) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(ForEach(store, [&](const v1::Ledger& ledger) {
    if (ledger.declaration().dataset() == dataset) names.push_back(ledger.name());
  }));
  return names;
}

// One open folder.
class Ledgers {
 public:
  static absl::StatusOr<std::unique_ptr<Ledgers>> Open(const std::string& folder);
  ~Ledgers();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // What is read of it while it is open. Valid as long as this is.
  ReadFrom reading() const {
    return {.store = store_.get(), .logs = signing_.get(), .notary = notary_.get()};
  }

 private:
  explicit Ledgers(const std::string& store_folder)
      : options_(server::SigningOptions::Beside(store_folder)) {
    options_.store_folder = store_folder;
  }

  absl::Status Start();

  // A trainer's stderr is its user's: what fails is the error of a call, and what a close cannot
  // sign the next opening signs.
  const server::Log log_{server::LogLevel::kError, /*file_descriptor=*/-1};
  server::SigningOptions options_;
  server::FilterGate gate_;  // the store asks it to its end
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<Notary> notary_;
  std::unique_ptr<server::SigningLoop> signing_;
  std::unique_ptr<server::ReceiptSigner> receipts_;
  std::unique_ptr<server::AccountingService> accounting_;
  std::unique_ptr<server::LedgerService> ledgers_;
  std::unique_ptr<server::AuditService> audit_;
  std::unique_ptr<server::Desk> desk_;
  std::unique_ptr<server::GrpcDoor> door_;
  std::shared_ptr<grpc::Channel> channel_;
};

absl::StatusOr<std::unique_ptr<Ledgers>> Ledgers::Open(const std::string& folder) {
  std::unique_ptr<Ledgers> ledgers(new Ledgers(absl::StrCat(folder, "/", kStore)));
  const absl::Status started = ledgers->Start();
  if (ReasonOf(started).reason == "STORE_IN_USE")
    return InUse(folder, "wait until it has ended, or give this one a folder of its own");
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
  signing_ = std::make_unique<server::SigningLoop>(notary_.get(), options_.every, &log_);
  receipts_ = std::make_unique<server::ReceiptSigner>(options_.key, notary_->OwnKey().name);
  accounting_ = std::make_unique<server::AccountingService>(
      store_.get(), server::AccountingLimits(), server::SignedRootOf(store_.get(), signing_.get()),
      server::TableKeeping{
          std::make_shared<merkle::Authenticator>(*options_.key, server::kHistoryPurpose), &log_});
  accounting_->Know(
      [this](const std::string& dataset, absl::Time) { return LedgersOver(*store_, dataset); },
      [](const server::Caller&, const std::string& ledger) { return !server::IsOfServer(ledger); },
      nullptr, nullptr, {});
  ledgers_ = std::make_unique<server::LedgerService>(
      store_.get(), signing_.get(),
      server::LedgerService::Parts{.signer = receipts_.get(),
                                   .subjects = &accounting_->subjects()});
  gate_.Start(&accounting_->subjects());
  store_->Guard(&gate_);
  audit_ = std::make_unique<server::AuditService>(store_.get(), notary_.get(), signing_.get());
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
  gate_.Stop();
  if (signing_ == nullptr) return;
  const bool signs = signing_->failure().ok();
  signing_.reset();
  server::SignTheRest(*notary_, signs).IgnoreError();
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
    const std::string key = (fs::canonical(folder, error) / kStore).string();
    if (error) return ErrnoError(error.value(), "look at", folder);
    auto found = open_.find(key);
    if (found == open_.end()) {
      RETURN_IF_ERROR(AwaitReaders(key, folder));
      ASSIGN_OR_RETURN(std::unique_ptr<Ledgers> opened, Ledgers::Open(folder));
      found = open_.emplace(key, Shared{std::move(opened)}).first;
    }
    ++found->second.users;
    grpc::Channel* const channel = found->second.ledgers->channel().get();
    return std::shared_ptr<grpc::Channel>(channel, [this, found](grpc::Channel*) { Leave(found); });
  }

  // The ledgers in the store's folder `store`, at `path` as the caller has it.
  absl::StatusOr<Reading> Read(const std::string& store, const std::string& path,
                               const ReadOptions& options) {
    RETURN_IF_ERROR(CheckNoFork());
    std::error_code error;
    const std::string key = fs::canonical(store, error).string();
    if (error) return ErrnoError(error.value(), "look at", store);
    absl::MutexLock lock(&mutex_);
    AwaitRecorder(key);
    Reading reading;
    if (const auto found = open_.find(key); found != open_.end()) {
      ReadFrom from = found->second.ledgers->reading();
      from.summaries = options.summaries;
      RETURN_IF_ERROR(NameLedgers(*from.store, reading));
      ASSIGN_OR_RETURN(std::shared_ptr<ReadServices> services, ReadServices::Open(from));
      ++found->second.users;
      grpc::Channel* const channel = services->channel().get();
      reading.channel.reset(channel,
                            [this, found, services = std::move(services)](grpc::Channel*) mutable {
                              services.reset();
                              Leave(found);
                            });
      return reading;
    }
    auto opened = RestingFolder::Open(store, options.summaries);
    if (ReasonOf(opened.status()).reason == "STORE_IN_USE")
      return InUse(path, "read it once that has ended, or ask the server if it is one");
    RETURN_IF_ERROR(opened.status());
    std::shared_ptr<RestingFolder> folder = *std::move(opened);
    RETURN_IF_ERROR(NameLedgers(folder->store(), reading));
    reading.assumptions = folder->assumptions();
    ++reading_[key];
    grpc::Channel* const channel = folder->channel().get();
    reading.channel.reset(channel, [this, key, folder = std::move(folder)](grpc::Channel*) mutable {
      folder.reset();
      absl::MutexLock leaving(&mutex_);
      if (--reading_[key] == 0) reading_.erase(key);
    });
    return reading;
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

  // Those who read again and again let a recorder in between.
  void AwaitRecorder(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto done = [this, &key]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !wanted_.contains(key); };
    mutex_.AwaitWithTimeout(absl::Condition(&done), kLongestClose);
  }

  // A lock of this process's own would be lost with the first reader that closes the folder.
  absl::Status AwaitReaders(const std::string& key, const std::string& folder)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto done = [this, &key]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !reading_.contains(key); };
    const auto wanted = wanted_.insert(key);
    const bool alone = mutex_.AwaitWithTimeout(absl::Condition(&done), kLongestClose);
    wanted_.erase(wanted);
    if (alone) return absl::OkStatus();
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("path: this process reads ", folder,
                                                   "; let go of what reads it, and then record")),
        {"STORE_IN_USE", {{"field", "path"}, {"folder", folder}}});
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
  std::map<std::string, size_t> reading_ ABSL_GUARDED_BY(mutex_);  // how often, by the store's path
  std::multiset<std::string> wanted_ ABSL_GUARDED_BY(mutex_);      // by recorders that wait
};

// The folder of the store at `path`; nullopt: it is a file.
absl::StatusOr<std::optional<std::string>> StoreAt(const std::string& path) {
  struct stat found = {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) {
    if (!path.empty() && errno != ENOENT) return ErrnoError(errno, "look at", path);
    return WithReason(absl::NotFoundError(absl::StrCat("path: there is no ", path)),
                      {"NO_LEDGER", {{"field", "path"}}});
  }
  if (!S_ISDIR(found.st_mode)) return std::nullopt;
  const std::string inner = absl::StrCat(path, "/", kStore);
  if (HoldsEmbeddedStore(inner)) return inner;
  if (HoldsEmbeddedStore(path)) return path;
  return PathError(absl::StrCat(
      "must be the folder of a recorder's ledgers or of a server's store, or a bundle; ", path,
      " is a folder that holds neither"));
}

}  // namespace

bool IsBuilt() { return true; }

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenLedgers(const std::string& folder) {
  return OpenFolders::OfProcess().Get(folder);
}

absl::StatusOr<Reading> OpenToRead(const std::vector<std::string>& paths,
                                   const ReadOptions& options) {
  if (paths.empty()) return PathError("must name a folder or a bundle, got nothing");
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::optional<std::string> store, StoreAt(path));
    if (!store.has_value()) continue;
    if (paths.size() == 1) return OpenFolders::OfProcess().Read(*store, path, options);
    return PathError(absl::StrCat("must be one folder, or several bundles; ", path,
                                  " is a folder beside others"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<BundledLedgers> ledgers, BundledLedgers::Open(paths));
  Reading reading;
  reading.in_bundles = true;
  RETURN_IF_ERROR(NameLedgers(*ledgers, reading));
  struct Open {
    std::shared_ptr<BundledLedgers> ledgers;
    ReadOnlyStore store{ledgers.get()};
    std::unique_ptr<ReadServices> services;
  };
  auto open = std::make_shared<Open>(Open{std::move(ledgers)});
  ASSIGN_OR_RETURN(open->services, ReadServices::Open({.store = &open->store,
                                                       .logs = open->ledgers.get(),
                                                       .summaries = options.summaries}));
  reading.channel = {open, open->services->channel().get()};
  reading.assumptions.push_back(
      "a bundle agrees with itself and with the key that it holds: `dpledger ledger verify --key` "
      "shows whether that is the key of whoever should have signed it");
  return reading;
}

}  // namespace dpledger::local
