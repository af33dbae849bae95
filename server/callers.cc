#include "server/callers.h"

#include <arpa/inet.h>
#include <openssl/x509.h>

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"
#include "base/status.h"
#include "identity/first_token.h"

namespace dpledger::server {
namespace {

using CertificatePointer = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr absl::Duration kLookAgain = absl::Seconds(1);
// More ledgers than this are looked up again.
constexpr size_t kMaxLedgers = 100'000;

CertificatePointer Decode(const std::string& der) {
  if (der.empty()) return {nullptr, X509_free};
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  return {d2i_X509(nullptr, &at, static_cast<long>(der.size())), X509_free};
}

// The last one, which the proxy has added: those before it are what its client says. "192.0.2.7" or
// "[2001:db8::1]"; nothing if it is no address.
std::optional<std::string> LastAddress(std::string_view forwarded) {
  const size_t comma = forwarded.rfind(',');
  std::string last(comma == std::string_view::npos ? forwarded : forwarded.substr(comma + 1));
  absl::StripAsciiWhitespace(&last);
  if (const std::optional<Address> with_port = ParseAddress(last); with_port.has_value())
    last = with_port->host;
  if (last.starts_with('[') && last.ends_with(']')) last = last.substr(1, last.size() - 2);
  unsigned char unused[sizeof(in6_addr)];
  if (inet_pton(AF_INET, last.c_str(), unused) == 1) return last;
  if (inet_pton(AF_INET6, last.c_str(), unused) == 1) return absl::StrCat("[", last, "]");
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<identity::Tokens>> OpenTokens(const std::string& file,
                                                             LedgerStore& store, Clock* clock,
                                                             const Log* log) {
  if (!file.empty()) return identity::Tokens::OpenFile(file, clock, log);
  std::unique_ptr<SharedText> text = store.Text("tokens"), use = store.Text("times of last use");
  if (text == nullptr) return FieldError("token_file", "must be given: the store keeps no texts");
  return identity::Tokens::Open(std::move(text), std::move(use), clock, log);
}

}  // namespace

std::string AddressOf(const FindPeer& find_peer, const Credentials& credentials) {
  const std::shared_ptr<const front::Peer> peer = find_peer(credentials.peer);
  if (peer == nullptr) return credentials.peer;
  if (!peer->forwards) return peer->address;
  return LastAddress(credentials.forwarded).value_or(peer->address);
}

Callers::Callers(FindPeer find_peer, LedgerReader* store, const Log* log)
    : find_peer_(std::move(find_peer)), store_(*store), refused_(log, "call_refused") {}

Callers::~Callers() { StopWatching(); }

void Callers::StopWatching() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (watch_.joinable()) watch_.join();
}

absl::StatusOr<std::unique_ptr<Callers>> Callers::Open(const IdentityOptions& options,
                                                       FindPeer find_peer, LedgerStore* store,
                                                       Clock* clock, const Log* log) {
  std::unique_ptr<Callers> callers(new Callers(std::move(find_peer), store, log));
  ASSIGN_OR_RETURN(callers->tokens_, OpenTokens(options.token_file, *store, clock, log));
  ASSIGN_OR_RETURN(callers->rights_, identity::Rights::Open(options.policy_file, log));
  std::vector<identity::JwtIssuer*> issuers;
  for (const identity::JwtIssuerOptions& issuer : options.issuers) {
    ASSIGN_OR_RETURN(std::unique_ptr<identity::JwtIssuer> opened,
                     identity::JwtIssuer::Open(issuer, clock, log));
    issuers.push_back(opened.get());
    callers->issuers_.push_back(std::move(opened));
  }
  if (options.first_token_file.empty()) {
    ASSIGN_OR_RETURN(const identity::TokenTable known, callers->tokens_->List());
    if (known.tokens.empty()) log->Write(LogLevel::kWarning, "no_tokens");
  } else {
    ASSIGN_OR_RETURN(const bool made, identity::MakeFirstAdminToken(
                                          *callers->tokens_, options.first_token_file, *clock));
    if (made)
      log->Write(LogLevel::kWarning, "first_admin_token", {{"file", options.first_token_file}});
  }
  callers->authenticator_ =
      std::make_unique<identity::Authenticator>(callers->tokens_.get(), std::move(issuers), clock);
  return callers;
}

void Callers::Watch(Desk* desk) {
  watch_ = std::thread([this, desk] { Run(desk); });
}

void Callers::Run(Desk* desk) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kLookAgain);
    if (stopping_) return;
    mutex_.Unlock();
    rights_->Refresh();
    authenticator_->Refresh();  // last: it may wait for a database
    desk->EndStreams([this](const Caller& caller) { return authenticator_->StillValid(caller); });
    mutex_.Lock();
  }
}

absl::StatusOr<Caller> Callers::Identify(const Credentials& credentials) {
  if (credentials.doubled) {
    refused_.Write(AddressOf(find_peer_, credentials), "", "two authorization headers");
    return WithReason(absl::UnauthenticatedError("authorization: must be given once"),
                      {"INVALID_TOKEN", {}});
  }
  const std::shared_ptr<const front::Peer> peer = find_peer_(credentials.peer);
  const CertificatePointer certificate = Decode(peer == nullptr ? "" : peer->certificate);
  identity::Refusal refusal;
  absl::StatusOr<Caller> caller =
      authenticator_->Authenticate({credentials.authorization, certificate.get()}, &refusal);
  if (!caller.ok()) {
    refused_.Write(
        AddressOf(find_peer_, credentials), refusal.caller,
        absl::StrCat(refusal.reason, refusal.detail.empty() ? "" : ": ", refusal.detail));
  }
  return caller;
}

absl::Status Callers::Decide(const Caller& caller, Permission permission,
                             const Resource& resource) {
  if (resource.kind == Resource::Kind::kRegistry)
    return rights_->DecideSomewhere(caller, permission);
  identity::Resource asked;
  if (resource.kind == Resource::Kind::kDataset) {
    asked.project = "-";
    asked.data_set = resource.name;
  } else if (resource.kind != Resource::Kind::kServer) {
    asked = identity::Resource::Of(resource.name);
  }
  if (resource.kind == Resource::Kind::kProject && permission == Permission::kList)
    return rights_->DecideList(caller, asked);
  std::string declared = resource.data_set;
  if (!resource.parent.empty()) declared = MadeOf(resource.parent).data_set;
  if (!declared.empty()) {
    asked.data_set = std::move(declared);
    if (rights_->Allows(caller, permission, asked)) return absl::OkStatus();
    asked.data_set.clear();
  }
  const absl::Status decided = rights_->Decide(caller, permission, asked);
  if (decided.ok() || resource.kind != Resource::Kind::kLedger) return decided;
  Made made = MadeOf(resource.name);
  asked.data_set = std::move(made.data_set);
  asked.creator = std::move(made.creator);
  // The denial that was made without them: it tells nothing of the ledger.
  return rights_->Allows(caller, permission, asked) ? absl::OkStatus() : decided;
}

Callers::Made Callers::MadeOf(const std::string& ledger) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = made_.find(ledger);
    if (found != made_.end()) return found->second;
  }
  const absl::StatusOr<v1::Ledger> read = store_.Get(ledger, kNoWriters);
  if (!read.ok()) return {};
  absl::MutexLock lock(&mutex_);
  if (made_.size() >= kMaxLedgers) made_.clear();
  return made_[ledger] = {read->declaration().dataset(), read->creator()};
}

}  // namespace dpledger::server
