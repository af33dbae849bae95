// The caller that a client certificate names, by its subject alternative names alone, never by its
// common name. The chain must have been verified before.
//
// 1. A SPIFFE id: the certificate has exactly one URI, and it begins with spiffe:// (X509-SVID,
//    section 2). A certificate with such a URI and another one is refused.
// 2. Else exactly one DNS name, without a wildcard.
// 3. A certificate of an authority names no caller.
// Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "identity/caller.h"

struct x509_st;  // OpenSSL's X509

namespace dpledger::identity {

// UNAUTHENTICATED names the rule that is broken, without bytes of the certificate.
absl::StatusOr<Caller> CallerFromCertificate(x509_st* certificate);

}  // namespace dpledger::identity
