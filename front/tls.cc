#include "front/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <ctime>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace dpledger::front {
namespace {

namespace ssl = boost::asio::ssl;

constexpr absl::Duration kLookAgain = absl::Seconds(1);
constexpr absl::Duration kWarnAgain = absl::Minutes(1);

// Field names as the flags that give them.
absl::Status Unfit(const char* field, const std::string& file, std::string_view rule) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return FieldError(field, absl::StrCat(std::string(rule), ", got ", file,
                                        reason == nullptr ? "" : absl::StrCat(" (", reason, ")")));
}

// HTTP/1.1 if the client offers it: browsers and curl, which do not speak gRPC. Who does offers h2
// alone. Without either the handshake ends.
int SelectProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1\x02h2";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kOurs, sizeof(kOurs) - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Adds the lists to the store. False unless there is one, and nothing else.
bool AddLists(const std::string& file, X509_STORE* store) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_file(file.c_str(), "r"), BIO_free);
  if (in == nullptr) return false;
  int lists = 0;
  while (X509_CRL* const list = PEM_read_bio_X509_CRL(in.get(), nullptr, nullptr, nullptr)) {
    const bool added = X509_STORE_add_crl(store, list) == 1;
    X509_CRL_free(list);
    if (!added) return false;
    ++lists;
  }
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (lists == 0 || !ended) return false;
  ERR_clear_error();
  // Of the client's own certificate: a list of each authority would be needed for the others.
  return X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) == 1;
}

absl::Time EndOf(ssl::context& context) {
  // OpenSSL has read the time before: it belongs to a certificate in use.
  std::tm parts = {};
  ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context.native_handle())), &parts);
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

bool Verifies(SSL_CTX* context, SSL* connection) {
  const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(connection),
                                                          X509_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free);
  if (shown == nullptr || check == nullptr) return false;
  const bool good = X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context), shown.get(),
                                        SSL_get_peer_cert_chain(connection)) == 1 &&
                    X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1 &&
                    X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  return good;
}

std::string TlsContext::Stamp(const TlsFiles& files) {
  std::string stamp;
  for (const std::string* file :
       {&files.certificate, &files.key, &files.client_ca, &files.client_crl}) {
    struct stat found = {};
    if (file->empty() || stat(file->c_str(), &found) != 0) {
      stamp += "-;";
      continue;
    }
    absl::StrAppend(&stamp, found.st_dev, ":", found.st_ino, ":", found.st_size, ":",
                    found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec, ";");
  }
  return stamp;
}

absl::StatusOr<std::shared_ptr<ssl::context>> TlsContext::Read(const TlsFiles& files) {
  ERR_clear_error();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const handle = context->native_handle();
  SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
  SSL_CTX_set_options(handle, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(handle, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(handle, SelectProtocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(handle, files.certificate.c_str()) != 1)
    return Unfit("cert", files.certificate, "must be a file with a PEM certificate chain");
  // A server asks nobody for a passphrase: OpenSSL would, on the terminal, and wait for it.
  bool encrypted = false;
  SSL_CTX_set_default_passwd_cb_userdata(handle, &encrypted);
  SSL_CTX_set_default_passwd_cb(handle, [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  });
  const bool read = SSL_CTX_use_PrivateKey_file(handle, files.key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb(handle, nullptr);
  SSL_CTX_set_default_passwd_cb_userdata(handle, nullptr);
  if (encrypted) {
    return Unfit("key", files.key,
                 "must not be encrypted (openssl pkey takes the passphrase off; keep the file "
                 "readable by the server alone)");
  }
  if (!read)
    return Unfit("key", files.key, "must be a file with the PEM private key of the certificate");
  if (SSL_CTX_check_private_key(handle) != 1)
    return Unfit("key", files.key, "must be the key of the certificate");
  if (!files.client_ca.empty()) {
    if (SSL_CTX_load_verify_locations(handle, files.client_ca.c_str(), nullptr) != 1)
      return Unfit("client_ca", files.client_ca, "must be a file with PEM certificates");
    STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
    if (names != nullptr) SSL_CTX_set_client_CA_list(handle, names);
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nullptr);
    if (!files.client_crl.empty() && !AddLists(files.client_crl, SSL_CTX_get_cert_store(handle)))
      return Unfit("client_crl", files.client_crl, "must be a file with PEM revocation lists");
  }
  return context;
}

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(TlsFiles files, const Log* log) {
  auto made = std::unique_ptr<TlsContext>(new TlsContext(std::move(files), log));
  absl::MutexLock lock(&made->mutex_);
  made->stamp_ = Stamp(made->files_);
  ASSIGN_OR_RETURN(made->current_, Read(made->files_));
  made->looked_ = absl::Now();
  made->WarnIfEnded();
  return made;
}

std::shared_ptr<ssl::context> TlsContext::Current() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = absl::Now();
  if (now - looked_ < kLookAgain && now >= looked_) return current_;
  looked_ = now;
  std::string stamp = Stamp(files_);
  if (stamp == stamp_) return current_;
  // What did not load is tried again when it changes, and when it is time to say so again.
  if (stamp == failed_ && now - warned_ < kWarnAgain) return current_;
  absl::StatusOr<std::shared_ptr<ssl::context>> fresh = Read(files_);
  if (fresh.ok()) {
    current_ = *std::move(fresh);
    stamp_ = std::move(stamp);
    warned_ = absl::InfinitePast();
    log_.Write(LogLevel::kInfo, "certificate_reloaded", {{"certificate", files_.certificate}});
    WarnIfEnded();
    return current_;
  }
  ++failures_;
  failed_ = std::move(stamp);
  if (now - warned_ >= kWarnAgain) {
    warned_ = now;
    log_.Write(LogLevel::kWarning, "certificate_not_reloaded",
               {{"message", std::string(fresh.status().message())}});
  }
  return current_;
}

void TlsContext::WarnIfEnded() const {
  const absl::Time ends = EndOf(*current_);
  if (ends > absl::Now()) return;
  log_.Write(LogLevel::kWarning, "certificate_has_ended",
             {{"certificate", files_.certificate},
              {"ended", absl::FormatTime(absl::RFC3339_sec, ends, absl::UTCTimeZone())},
              {"message", "clients refuse it; one that is good is read as soon as it is there"}});
}

absl::Time TlsContext::ends() const {
  absl::MutexLock lock(&mutex_);
  return EndOf(*current_);
}

uint64_t TlsContext::failures() const {
  absl::MutexLock lock(&mutex_);
  return failures_;
}

}  // namespace dpledger::front
