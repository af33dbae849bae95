#include "server/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/store.h"
#include "merkle/authenticator.h"
#include "registry/signing_key_file.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/questions/signed_root.h"
#include "server/questions/stored_history.h"
#include "server/summaries/stored_summary.h"

namespace dpledger::server {
namespace {

constexpr int kStalledLeases = 3;
constexpr int kNotAcceptedTwice = 2;
constexpr absl::Duration kComplainEvery = absl::Minutes(1);
constexpr ptrdiff_t kMostLookedAt = 1000;  // ledgers of one data set, for one that may be listed
constexpr absl::Duration kLongestRefresh = absl::Seconds(2);  // of the index, for a new data set

// For the programs' own files, logs, witnesses, and what libraries open.
constexpr size_t kReservedDescriptors = 64;

// Raises the soft limit to the hard one, as servers do.
size_t MostDescriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur;
}

// A store in a folder is this process's alone.
RecomputeOptions RecomputeOf(const ServerOptions& options, StatementService* statements) {
  RecomputeOptions recompute = options.recompute;
  recompute.shared_store = options.signing.store_folder.empty();
  recompute.statements = [statements](const auto& request, const CallContext& call) {
    return statements->ListStatements(request, call);
  };
  return recompute;
}

// Of the server itself, which needs no right.
CallContext OwnQuestion() {
  CallContext call;
  call.own = true;
  return call;
}

}  // namespace

Server::Server(const ServerOptions& options, std::unique_ptr<LedgerStore> store,
               std::unique_ptr<Notary> notary, const merkle::Ed25519PrivateKey& key,
               const ReceiptSigner& receipts, const Log* log)
    : log_(*log),
      dial_every_(options.dial_every),
      signing_every_(options.signing.every),
      store_(std::move(store)),
      notary_(std::move(notary)),
      signing_(std::make_unique<SigningLoop>(notary_.get(), options.signing.every, log,
                                             kStalledLeases * options.signing.Lease(),
                                             options.signing.clock)),
      receipts_(receipts),
      accounting_(store_.get(), options.accounting, SignedRootOf(store_.get(), signing_.get()),
                  {std::make_shared<merkle::Authenticator>(key, kHistoryPurpose), log}),
      ledgers_(
          store_.get(), signing_.get(),
          {.signer = &receipts_,
           .sealed = [this](const std::string& ledger) { signing_->Nudge(ledger); },
           .subjects = &accounting_.subjects(),
           .overspent = [this](const std::string& budget) { return index_.Overspent(budget); },
           .check_name = [this](const std::string& dataset,
                                const CallContext& call) { return CheckName(dataset, call); }}),
      audit_(store_.get(), notary_.get(), signing_.get()),
      tail_(store_.get(), &index_, log),
      summariser_(
          options.accounting.usual_delta, options.summaries, store_.get(), &index_,
          [this](const v1::ComputeEpsilonRequest& request) {
            CallContext call = OwnQuestion();
            call.cancelled = [this] { return summariser_.stopping(); };
            return accounting_.ComputeEpsilon(request, call);
          },
          [this] { return tail_.last_group(); },
          std::make_shared<merkle::Authenticator>(key, kSummaryPurpose), log),
      totals_(options.accounting.usual_delta,
              [this](const std::vector<std::string>& ledgers, double delta,
                     std::function<bool()> cancelled) {
                CallContext call = OwnQuestion();
                call.cancelled = std::move(cancelled);
                return accounting_.EpsilonTogether(ledgers, delta, call);
              }),
      notes_(store_.get()),
      finder_(&tail_, &index_),
      statements_(store_.get(), signing_.get(), &accounting_, &finder_),
      recompute_(store_.get(), &accounting_, &finder_, RecomputeOf(options, &statements_),
                 Clock::System(), log),
      authorizer_(options.authorizer) {}

Server::~Server() { Stop(absl::InfinitePast()); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      std::unique_ptr<LedgerStore> store,
                                                      const Log* log) {
  ASSIGN_OR_RETURN(std::unique_ptr<Notary> notary, OpenNotary(options.signing, *store, *log));
  auto key = options.signing.key;
  if (key == nullptr) {  // opening the notary has made the file, if it was not there
    ASSIGN_OR_RETURN(merkle::Ed25519PrivateKey read, ReadSigningKey(options.signing.key_file));
    key = std::make_shared<const merkle::Ed25519PrivateKey>(std::move(read));
  }
  const ReceiptSigner receipts(key, notary->OwnKey().name);
  std::unique_ptr<Server> server(
      new Server(options, std::move(store), std::move(notary), *key, receipts, log));
  RETURN_IF_ERROR(server->OpenDoors(options));
  return server;
}

absl::Status Server::CheckName(const std::string& dataset, const CallContext& call) {
  ASSIGN_OR_RETURN(const uint64_t declaring, store_->CountDeclaring(dataset));
  if (declaring > 0) return absl::OkStatus();
  // Without the last moments' ledgers a slip may go unnoticed: no reason to refuse.
  tail_.Refresh(std::min(call.deadline, absl::Now() + kLongestRefresh)).IgnoreError();
  for (const auto& [near, ledgers] : index_.NearlyCalled(dataset)) {
    const auto end = ledgers.begin() + std::min<ptrdiff_t>(std::ssize(ledgers), kMostLookedAt);
    if (std::none_of(ledgers.begin(), end,
                     [&](const std::string& ledger) { return may_list_(call.caller, ledger); })) {
      continue;  // a name that the caller may not know of
    }
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "declaration.dataset: no ledger is over \"", absl::Utf8SafeCEscape(dataset),
            "\", and some are over \"", absl::Utf8SafeCEscape(near),  // others' words
            "\": what is over a data set by another name counts in none of its totals and budgets. "
            "If a new data set is meant, say so: new_dataset, or --new-dataset")),
        {"DATASET_NEARLY_EXISTS", {{"dataset", near}}});
  }
  return absl::OkStatus();
}

void Server::OpenLists() {
  Authorizer* const authorizer = authorizer_ != nullptr ? authorizer_.get() : callers_.get();
  const auto may = [authorizer](Permission permission) {
    return [authorizer, permission](const Caller& caller, const std::string& ledger) {
      if (authorizer == nullptr) return true;
      // As the desk guards it: administrators alone read the access record.
      if (permission == Permission::kAsk && IsOfServer(ledger)) return false;
      return authorizer->Decide(caller, permission, {Resource::Kind::kLedger, ledger}).ok();
    };
  };
  may_list_ = may(Permission::kList);
  lists_ = std::make_unique<ListingService>(&tail_, &index_, &totals_, &notes_, may_list_);
  lists_->Know([this, authorizer](const Caller& caller) -> std::optional<ServerState> {
    if (authorizer != nullptr &&
        !authorizer->Decide(caller, Permission::kAdminister, Resource()).ok())
      return std::nullopt;
    ServerState state;
    state.signed_age = signing_->SignedAge();
    state.signed_late = std::max(absl::Minutes(1), 3 * signing_every_);
    state.certificate_ends = front_->figures().certificate_ends;
    if (callers_ == nullptr) return state;
    const absl::StatusOr<identity::TokenTable> tokens = callers_->tokens().List();
    if (!tokens.ok()) return state;  // the log has said so
    for (const identity::TokenRecord& token : tokens->tokens) {
      if (token.UsableAt(absl::Now()))
        state.tokens.push_back({absl::StrCat("token:", token.name), token.expires});
    }
    return state;
  });
  accounting_.Know(
      [this](const std::string& dataset, absl::Time deadline) {
        return finder_.Over(dataset, deadline);
      },
      may(Permission::kAsk),
      [authorizer](const Caller& caller, const std::string& dataset) {
        const Resource all = {Resource::Kind::kDataset, dataset};
        return authorizer == nullptr || authorizer->Decide(caller, Permission::kList, all).ok();
      },
      [this](const v1::ComputeEpsilonRequest& request, const v1::ComputeEpsilonResponse& response) {
        summariser_.OnAnswer(request, response);
      },
      {.overspent = [this](const std::string& budget) { return index_.Overspent(budget); },
       .spending = [this](const std::string& ledger) -> std::optional<v1::FilterSpending> {
         const auto summary = finder_.SummaryOf(ledger);
         if (summary == nullptr || !summary->has_spending()) return std::nullopt;
         return summary->spending();
       },
       .refused = [this](const std::string& budget) { return gate_.refusals().Of(budget); }});
  tail_.Start(
      [this] {
        RETURN_IF_ERROR(summariser_.Load());
        if (summariser_.on()) lists_->BeginTotals();
        return absl::OkStatus();
      },
      [this](const std::vector<std::string>& ledgers) { summariser_.OnChanged(ledgers); });
  summariser_.Start();
}

absl::Status Server::OpenDoors(const ServerOptions& options) {
  front::FrontOptions front = options.front;
  ASSIGN_OR_RETURN(front.max_connections,
                   front::ConnectionsFor(front.max_connections, MostDescriptors(),
                                         kReservedDescriptors + kStoreDescriptors));
  ASSIGN_OR_RETURN(front_, front::Front::Listen(front, &log_));
  const auto find = [front = front_.get()](const std::string& peer) { return front->Find(peer); };
  if (options.identity.on) {
    ASSIGN_OR_RETURN(callers_,
                     Callers::Open(options.identity, find, store_.get(), Clock::System(), &log_));
    record_ = std::make_unique<AccessRecord>(store_.get(), Clock::System(), &log_);
    admin_ = std::make_unique<AdminService>(&callers_->tokens(), Clock::System(),
                                            AccessHistory(store_.get(), signing_.get()));
  }
  OpenLists();
  DeskOptions desk = options.desk;
  desk.address_of = [find](const Credentials& call) { return AddressOf(find, call); };
  desk_ = std::make_unique<Desk>(
      desk,
      Services{&ledgers_, &accounting_, &audit_, lists_.get(), &statements_, &recompute_,
               admin_.get()},
      callers_.get(), authorizer_ != nullptr ? authorizer_.get() : callers_.get(), &log_);
  if (callers_ != nullptr) {
    desk_->Record(record_.get());
    record_->Start();
    callers_->Watch(desk_.get());
  }
  metrics_ = std::make_unique<Metrics>(desk_->methods());
  desk_->Observe(&metrics_->calls());
  groups_.Tell({&metrics_->store(), &tail_});
  store_->Observe(&groups_);
  gate_.Start(&accounting_.subjects());
  store_->Guard(&gate_);
  if (!notary_->why_read_whole().empty()) {
    log_.Write(LogLevel::kWarning, "registry_read_whole", {{"message", notary_->why_read_whole()}});
  }
  evidence_ =
      std::make_unique<EvidenceCheck>(store_.get(), notary_.get(), &log_,
                                      [this](const std::string& ledger, const absl::Status& why) {
                                        desk_->damage().Note(ledger, why);
                                      });
  PullFigures(options.signing.store_folder);
  desk_->health().SetServing(true);
  ASSIGN_OR_RETURN(door_, GrpcDoor::Open(options.door, desk_.get()));
  HttpDoorOptions http = options.http;
  http.max_connections += front.max_connections;
  ASSIGN_OR_RETURN(http_, HttpDoor::Open(http, desk_.get(), metrics_.get(), &log_));
  front_->Start([this](int descriptor, const std::string&) { door_->Take(descriptor); },
                [this](int descriptor, const std::string& name) {
                  const auto peer = front_->Find(name);
                  http_->Take(descriptor, name, peer == nullptr ? "" : peer->host);
                });
  OpenSnapshotDoor(options.signing.store_folder);
  recompute_.Start();
  return absl::OkStatus();
}

void Server::OpenSnapshotDoor(const std::string& store_folder) {
  if (store_folder.empty()) return;
  auto opened = SnapshotDoor::Open(store_folder, store_.get(), &log_);
  if (opened.ok()) {
    snapshots_ = *std::move(opened);
    return;
  }
  log_.Write(LogLevel::kWarning, "no_backup_while_running",
             {{"message", std::string(opened.status().message())}});
}

absl::Status Server::CheckHealth() {
  absl::Status health = signing_->failure();
  const absl::Status store = store_->Health();
  if (health.ok() && ReasonOf(store).reason == kDatabaseWentBack) {
    // It stays, and refuses. Whoever starts it again takes the other history: no supervisor may.
    CheckReadiness();
    return absl::OkStatus();
  }
  if (!store.ok()) {
    health = WithReason(
        absl::UnavailableError(absl::StrCat(store.message(), "; nothing more is acknowledged")),
        ReasonOf(store));
  }
  if (health.ok()) {
    CheckReadiness();
  } else {
    desk_->health().SetServing(false);
  }
  return health;
}

void Server::CheckReadiness() {
  absl::Status readiness = signing_->Readiness();
  if (const absl::Status store = store_->Health(); !store.ok()) readiness = store;
  if (readiness.ok()) readiness = Listening();
  if (readiness.ok()) readiness = Whole();
  const int64_t age = absl::ToInt64Seconds(signing_->SignedAge());
  if (readiness.ok() != ready_) {
    ready_ = readiness.ok();
    desk_->health().SetReady(ready_);
    if (ready_) log_.Write(LogLevel::kInfo, "ready_again", {{"signed_age_seconds", age}});
  }
  const std::string reason = ReasonOf(readiness).reason;
  {
    absl::MutexLock lock(&mutex_);
    not_ready_reason_ = reason;
  }
  const absl::Duration now = Clock::System()->Steady();
  if (ready_ || now - complained_ < kComplainEvery) return;
  complained_ = now;
  log_.Write(LogLevel::kError, "not_ready",
             {{"reason", reason},
              {"signed_age_seconds", age},
              {"message", std::string(readiness.message())}});
}

absl::Status Server::Whole() const {
  const size_t damaged = std::max(desk_->damage().count(), index_.Damaged().size());
  if (damaged == 0) return absl::OkStatus();
  return WithReason(absl::DataLossError(
                        absl::StrCat(damaged, damaged == 1 ? " ledger is" : " ledgers are",
                                     " damaged (the log names them): see `dpledger-server fsck`")),
                    {kDamaged, {}});
}

absl::Status Server::Listening() {
  const absl::Duration now = Clock::System()->Steady();
  if (now - dialled_ >= dial_every_) {
    dialled_ = now;
    not_accepted_ = front_->Accepts() ? 0 : not_accepted_ + 1;
  }
  if (not_accepted_ < kNotAcceptedTwice) return absl::OkStatus();
  return WithReason(absl::UnavailableError("the server accepts no connections: are there too few "
                                           "descriptors (ulimit -n)?"),
                    {kNotAccepting, {}});
}

void Server::Stop(absl::Time deadline) {
  snapshots_.reset();
  if (evidence_ != nullptr) evidence_->Stop();
  if (front_ != nullptr) front_->Close();
  if (callers_ != nullptr) callers_->StopWatching();
  if (desk_ != nullptr) desk_->Close(deadline);
  if (door_ != nullptr) door_->Close();
  if (http_ != nullptr) {
    http_->Close();
    // Unlike gRPC's, its calls may still be running, cancelled now and with nobody to answer.
    desk_->Close(absl::InfiniteFuture());
  }
  front_.reset();
  recompute_.Stop();
  gate_.Stop();
  if (record_ != nullptr) record_->Stop();
  totals_.Stop();
  summariser_.Stop();
  tail_.Stop();
  const bool signs = signing_ != nullptr && signing_->failure().ok();
  signing_.reset();
  if (notary_ != nullptr) {
    const absl::Status released = SignTheRest(*notary_, signs);
    if (!released.ok()) {
      log_.Write(LogLevel::kWarning, "lease_kept",
                 {{"code", absl::StatusCodeToString(released.code())},
                  {"message", std::string(released.message())}});
    }
  }
  notary_.reset();
  store_.reset();
}

}  // namespace dpledger::server
