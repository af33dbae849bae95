// The server's side of TLS: certificates from files, looked at again while the server runs.
#pragma once

#include <openssl/types.h>

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "front/front.h"

namespace dpledger::front {

// Whether the certificate that the client of `connection` has shown is good by `context`: signed by
// its authorities, not ended, and on none of its lists of those that were taken back.
bool Verifies(SSL_CTX* context, SSL* connection);

// TLS 1.2 or later, ALPN "http/1.1" before "h2". A client's certificate is asked for if `client_ca`
// is set, and not demanded: who has none may bring a token. One that `client_ca` has not signed
// ends the handshake, and so does one that `client_crl` lists; where that file is given and its
// list has ended, none is good. Thread safe.
class TlsContext {
 public:
  // INVALID_ARGUMENT that names the file for one that cannot be read, holds no certificate or key,
  // or where the two do not fit. `log` must outlive it.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Load(TlsFiles files, const Log* log);

  // For the next handshake. Looks whether the files have changed, once a second at most. Files that
  // do not load leave the last good ones in use, with the warning "certificate_not_reloaded" once a
  // minute.
  std::shared_ptr<boost::asio::ssl::context> Current();

  // When the certificate in use ends.
  absl::Time ends() const;
  // How often changed files did not load.
  uint64_t failures() const;

 private:
  // What changes with a file: names, sizes and times of change.
  static std::string Stamp(const TlsFiles& files);
  static absl::StatusOr<std::shared_ptr<boost::asio::ssl::context>> Read(const TlsFiles& files);

  // Logs "certificate_has_ended" of the one in use.
  void WarnIfEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TlsContext(TlsFiles files, const Log* log) : files_(std::move(files)), log_(*log) {}

  const TlsFiles files_;
  const Log& log_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> current_ ABSL_GUARDED_BY(mutex_);
  std::string stamp_ ABSL_GUARDED_BY(mutex_);   // of the files in use
  std::string failed_ ABSL_GUARDED_BY(mutex_);  // of the last ones that did not load
  absl::Time looked_ ABSL_GUARDED_BY(mutex_);
  absl::Time warned_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::front
