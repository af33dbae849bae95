#include "tests/front/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>

namespace dpledger {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;

void Must(bool holds) {
  if (!holds) std::abort();
}

KeyPtr NewKey() { return KeyPtr(EVP_EC_gen("P-256"), EVP_PKEY_free); }

template <typename Write>
std::string Pem(const Write& write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  Must(write(bio) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string pem(bytes, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  Must(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

CertificatePtr NewCertificate(const std::string& name, EVP_PKEY* key) {
  static long serial = 0;
  CertificatePtr made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86400);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return made;
}

std::string PemOf(X509* certificate) {
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

}  // namespace

std::string Encrypted(const std::string& key, const std::string& passphrase) {
  BIO* const bio = BIO_new_mem_buf(key.data(), static_cast<int>(key.size()));
  const KeyPtr read(PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr), EVP_PKEY_free);
  BIO_free(bio);
  return Pem([&](BIO* into) {
    return PEM_write_bio_PKCS8PrivateKey(into, read.get(), EVP_aes_256_cbc(), passphrase.data(),
                                         static_cast<int>(passphrase.size()), nullptr, nullptr);
  });
}

struct TestAuthority::Parts {
  KeyPtr key = NewKey();
  CertificatePtr certificate{nullptr, X509_free};
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->certificate = NewCertificate(name, parts_->key.get());
  X509* const own = parts_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  Extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  Must(X509_sign(own, parts_->key.get(), EVP_sha256()) > 0);
  certificate_ = PemOf(own);
}

TestAuthority::~TestAuthority() = default;

Credential TestAuthority::Issue(const std::string& names) const {
  const KeyPtr key = NewKey();
  const CertificatePtr made = NewCertificate("not a name to go by", key.get());
  X509_set_issuer_name(made.get(), X509_get_subject_name(parts_->certificate.get()));
  Extend(made.get(), parts_->certificate.get(), NID_subject_alt_name, names);
  Must(X509_sign(made.get(), parts_->key.get(), EVP_sha256()) > 0);
  return {PemOf(made.get()), Pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

std::string TestAuthority::Revoke(const Credential* revoked, bool ended) const {
  const std::unique_ptr<X509_CRL, decltype(&X509_CRL_free)> list(X509_CRL_new(), X509_CRL_free);
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(parts_->certificate.get()));
  ASN1_TIME* const time = ASN1_TIME_new();
  X509_gmtime_adj(time, -7200);
  X509_CRL_set1_lastUpdate(list.get(), time);
  if (revoked != nullptr) {
    BIO* const bio = BIO_new_mem_buf(revoked->certificate.data(), -1);
    const CertificatePtr taken(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), X509_free);
    BIO_free(bio);
    X509_REVOKED* const entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(taken.get()));
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(list.get(), entry);
  }
  X509_gmtime_adj(time, ended ? -3600 : 86400);
  X509_CRL_set1_nextUpdate(list.get(), time);
  ASN1_TIME_free(time);
  Must(X509_CRL_sign(list.get(), parts_->key.get(), EVP_sha256()) > 0);
  return Pem([&](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list.get()); });
}

}  // namespace dpledger
