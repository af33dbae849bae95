// The callers of a server: who calls (tokens, certificates, JWTs), what each may do (tokens' grants
// and the policy), and that streams end when that is over. Between the desk and identity/.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rare_log.h"
#include "front/peer.h"
#include "identity/authenticator.h"
#include "identity/jwt_issuer.h"
#include "identity/rights.h"
#include "identity/tokens.h"
#include "ledger_store/store.h"
#include "server/desk/authorizer.h"
#include "server/desk/desk.h"
#include "server/desk/identifier.h"

namespace dpledger::server {

struct IdentityOptions {
  bool on = false;               // else every caller is anonymous and may do everything
  std::string token_file;        // made when the first token is; empty: in the store's database
  std::string policy_file;       // empty: tokens' own grants alone
  std::string first_token_file;  // where the first start leaves its token; empty: it makes none
  std::vector<identity::JwtIssuerOptions> issuers;
};

// The connection of a transport's peer; null: it is not known.
using FindPeer = std::function<std::shared_ptr<const front::Peer>(const std::string& peer)>;

// What a trusted proxy says of the call, else the connection's own address; for one that is not
// known what the transport calls it.
std::string AddressOf(const FindPeer& find_peer, const Credentials& credentials);

// Thread safe.
class Callers : public Identifier, public Authorizer {
 public:
  // Reads the files; if there are no tokens at all, makes that of the first administrator and says
  // where ("first_admin_token"), or that it made none ("no_tokens"). `store`, `clock` and `log`
  // must outlive the object. INVALID_ARGUMENT names the file and the line of what cannot be read.
  static absl::StatusOr<std::unique_ptr<Callers>> Open(const IdentityOptions& options,
                                                       FindPeer find_peer, LedgerStore* store,
                                                       Clock* clock, const Log* log);
  ~Callers() override;

  identity::Tokens& tokens() { return *tokens_; }

  // Once a second from now on: reads changed files, and ends the streams of callers whose
  // credentials are no longer good. `desk` must outlive the object.
  void Watch(Desk* desk);
  void StopWatching();

  absl::StatusOr<Caller> Identify(const Credentials& credentials) override;

  // Of the registry everybody may see the proofs who may see those of some ledger: without them no
  // bundle could be checked. The data set and the creator of a ledger are read once, and only where
  // the answer depends on them.
  absl::Status Decide(const Caller& caller, Permission permission,
                      const Resource& resource) override;

 private:
  Callers(FindPeer find_peer, LedgerReader* store, const Log* log);

  // What entry 0 says of the ledger, for good; empty if it cannot be told.
  struct Made {
    std::string data_set;
    std::string creator;
  };
  Made MadeOf(const std::string& ledger);
  void Run(Desk* desk);

  const FindPeer find_peer_;
  LedgerReader& store_;
  RareLog refused_;
  std::unique_ptr<identity::Tokens> tokens_;
  std::vector<std::unique_ptr<identity::JwtIssuer>> issuers_;
  std::unique_ptr<identity::Rights> rights_;
  std::unique_ptr<identity::Authenticator> authenticator_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, Made> made_ ABSL_GUARDED_BY(mutex_);
  std::thread watch_;
};

}  // namespace dpledger::server
