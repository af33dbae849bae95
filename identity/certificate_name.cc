#include "identity/certificate_name.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

absl::Status Bad(absl::string_view what) {
  return absl::UnauthenticatedError(absl::StrCat("certificate: ", what));
}

struct AlternativeNames {
  std::vector<std::string> uris, hosts;
};

absl::StatusOr<AlternativeNames> NamesOf(X509* certificate) {
  int found = 0;
  const std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> list(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nullptr)),
      GENERAL_NAMES_free);
  ERR_clear_error();
  if (list == nullptr) {
    return Bad(found == -1 ? "has no subject alternative name"
                           : "its subject alternative names cannot be read, or are there twice");
  }
  AlternativeNames names;
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    int type = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(list.get(), i), &type);
    if (type != GEN_URI && type != GEN_DNS) continue;
    const auto* const text = static_cast<const ASN1_IA5STRING*>(value);
    // With its length: a NUL inside must not end it.
    (type == GEN_URI ? names.uris : names.hosts)
        .emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<size_t>(ASN1_STRING_length(text)));
  }
  return names;
}

absl::StatusOr<std::string> NameFrom(const AlternativeNames& names) {
  for (const std::string& uri : names.uris) {
    if (!absl::StartsWithIgnoreCase(uri, "spiffe:")) continue;
    if (names.uris.size() != 1) return Bad("has a SPIFFE id and another URI");
    return SpiffeCallerName(uri);
  }
  if (names.hosts.size() != 1) {
    return Bad("must have one SPIFFE id, or one DNS name, as its subject alternative name");
  }
  return DnsCallerName(names.hosts[0]);
}

absl::StatusOr<absl::Time> NotAfter(X509* certificate) {
  std::tm time = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) {
    return Bad("its end cannot be read");
  }
  return absl::FromTM(time, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<Caller> CallerFromCertificate(X509* certificate) {
  const uint32_t flags = X509_get_extension_flags(certificate);
  if ((flags & EXFLAG_INVALID) != 0) return Bad("its extensions cannot be read");
  if ((flags & EXFLAG_CA) != 0) return Bad("is that of an authority");
  ASSIGN_OR_RETURN(const AlternativeNames names, NamesOf(certificate));
  absl::StatusOr<std::string> name = NameFrom(names);
  if (absl::IsUnauthenticated(name.status())) return name.status();
  if (!name.ok()) return Bad(name.status().message());
  Caller caller;
  caller.name = *std::move(name);
  caller.kind = CallerKind::kMtls;
  ASSIGN_OR_RETURN(caller.expires, NotAfter(certificate));
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), caller.evidence.data(), &size) != 1) {
    return Bad("cannot be hashed");
  }
  return caller;
}

}  // namespace dpledger::identity
