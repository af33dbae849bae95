// The whole server as one object: a store, the notary that signs it, the services, the desk, the
// doors and the front before them. It serves a store only after the notary has checked and signed
// it.
//
// Closing goes from the outside in: the desk admits no new calls, then calls under way are
// answered, then the store is closed. Thread safe, except that Stop must be called only once.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "front/front.h"
#include "ledger_store/store.h"
#include "server/callers.h"
#include "server/desk/desk.h"
#include "server/grpc_door/grpc_door.h"
#include "server/http_door/http_door.h"
#include "server/log.h"
#include "server/metrics/metrics.h"
#include "server/own_ledgers/access_record.h"
#include "server/questions/accounting_service.h"
#include "server/questions/filter_gate.h"
#include "server/recompute/recompute_service.h"
#include "server/services/admin_service.h"
#include "server/services/audit_service.h"
#include "server/services/ledger_service.h"
#include "server/signing/evidence_check.h"
#include "server/signing/receipt_signer.h"
#include "server/signing/signing.h"
#include "server/signing/signing_loop.h"
#include "server/snapshot_door.h"
#include "server/statement/statement_service.h"
#include "server/summaries/dataset_totals.h"
#include "server/summaries/group_fan_out.h"
#include "server/summaries/ledger_index.h"
#include "server/summaries/ledger_tail.h"
#include "server/summaries/listing_service.h"
#include "server/summaries/summariser.h"

namespace dpledger::server {

// Why a server is not ready: the reasons of CheckHealth.
inline constexpr char kNotAccepting[] = "NOT_ACCEPTING";
inline constexpr char kDamaged[] = "DAMAGED";

struct ServerOptions {
  front::FrontOptions front;
  GrpcDoorOptions door;
  HttpDoorOptions http;  // an empty address: HTTP has no port of its own
  DeskOptions desk;
  IdentityOptions identity;
  std::shared_ptr<Authorizer> authorizer;  // instead of the rights of `identity`; may be null
  absl::Duration dial_every = absl::Seconds(10);  // whether the front accepts
  SigningOptions signing;
  AccountingLimits accounting;
  bool summaries = true;       // false: none are computed; lists show no ε
  RecomputeOptions recompute;  // shared_store is the server's to say
};

class Server {
 public:
  // The server serves when Start returns. `log` must outlive it. Errors of OpenNotary,
  // Front::Listen and Callers::Open.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       std::unique_ptr<LedgerStore> store,
                                                       const Log* log);
  ~Server();  // stops at once

  int port() const { return front_->port(); }
  // "127.0.0.1:7072"; empty if HTTP has no port of its own.
  std::string http_address() const { return http_->address(); }
  Desk& desk() { return *desk_; }
  ListingService& lists() { return *lists_; }

  // OK while the store is healthy and the notary signs. After the first error, health says
  // NOT_SERVING for good. While SigningLoop::Readiness has an error, or the front has twice not
  // accepted a connection of the server's own, or once a call has found a ledger damaged, the
  // server is not ready (Health::SetReady), and says why once a minute. One thread at a time; takes
  // 2 s at most.
  absl::Status CheckHealth();

  // Drains (Desk::Close), closes the doors, then the store.
  void Stop(absl::Time deadline);

 private:
  absl::Status OpenDoors(const ServerOptions& options);
  // For backups, if the store is in a folder. Without it the server serves all the same.
  void OpenSnapshotDoor(const std::string& store_folder);
  // The services' knowledge of all ledgers, which the desk's rows need.
  void OpenLists();
  // Of a ledger's data set that is to be made.
  absl::Status CheckName(const std::string& dataset, const CallContext& call);
  void CheckReadiness();
  // Dials the front now and then, and believes the second failure.
  absl::Status Listening();
  // DATA_LOSS once a ledger is known to be damaged.
  absl::Status Whole() const;
  // Into the metrics. server_figures.cc.
  void PullFigures(const std::string& store_folder);
  std::string NotReadyReason();
  Server(const ServerOptions& options, std::unique_ptr<LedgerStore> store,
         std::unique_ptr<Notary> notary, const merkle::Ed25519PrivateKey& key,
         const ReceiptSigner& receipts, const Log* log);

  const Log& log_;
  const absl::Duration dial_every_;
  const absl::Duration signing_every_;
  FilterGate gate_;  // the store asks it to its end
  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<Notary> notary_;
  std::unique_ptr<SigningLoop> signing_;
  const ReceiptSigner receipts_;
  AccountingService accounting_;
  LedgerService ledgers_;
  AuditService audit_;
  LedgerIndex index_;
  LedgerTail tail_;
  Summariser summariser_;
  DatasetTotals totals_;
  std::function<bool(const Caller& caller, const std::string& ledger)> may_list_;
  AttentionNotes notes_;
  std::unique_ptr<ListingService> lists_;
  GroupFanOut groups_;
  LedgerFinder finder_;
  StatementService statements_;
  RecomputeService recompute_;
  const std::shared_ptr<Authorizer> authorizer_;
  std::unique_ptr<front::Front> front_;
  std::unique_ptr<AccessRecord> record_;  // null: callers are not known
  std::unique_ptr<Callers> callers_;      // null: callers are not asked for a name
  std::unique_ptr<AdminService> admin_;   // null with it
  std::unique_ptr<Metrics> metrics_;      // before the desk, which tells it of calls to its end
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<GrpcDoor> door_;
  std::unique_ptr<HttpDoor> http_;
  std::unique_ptr<SnapshotDoor> snapshots_;  // may be null
  std::unique_ptr<EvidenceCheck> evidence_;
  // CheckHealth's own.
  bool ready_ = true;
  int not_accepted_ = 0;
  absl::Duration dialled_ = -absl::InfiniteDuration();     // by the steady clock
  absl::Duration complained_ = -absl::InfiniteDuration();  // by the steady clock

  absl::Mutex mutex_;
  std::string not_ready_reason_ ABSL_GUARDED_BY(mutex_);  // empty: it is ready
};

}  // namespace dpledger::server
