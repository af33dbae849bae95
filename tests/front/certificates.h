// Certificates for tests, made when they are needed: a key in a repository is no key.
#pragma once

#include <memory>
#include <string>

namespace dpledger {

// A certificate with its key, as PEM.
struct Credential {
  std::string certificate;
  std::string key;
};

// The PEM of a key under a passphrase.
std::string Encrypted(const std::string& key, const std::string& passphrase);

// An authority that signs others. Names are subject alternative names as OpenSSL writes them:
// "DNS:localhost,IP:127.0.0.1", "URI:spiffe://example.org/trainer". All are P-256, for a day.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();

  const std::string& certificate() const { return certificate_; }
  Credential Issue(const std::string& names) const;
  // Its list of certificates that were taken back, as PEM: `revoked`, or none; good for a day, or
  // no more.
  std::string Revoke(const Credential* revoked, bool ended = false) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
  std::string certificate_;
};

}  // namespace dpledger
