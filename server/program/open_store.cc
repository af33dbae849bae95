#include "server/program/open_store.h"

#include <cerrno>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "base/status.h"
#include "ledger_store/embedded/embedded_store.h"
#ifdef DPLEDGER_POSTGRES
#include "ledger_store/postgres/postgres_store.h"
#endif

namespace dpledger::server {
namespace {

#ifdef DPLEDGER_POSTGRES
constexpr size_t kMaxConnectionBytes = 16 << 10;

// The file may hold a password, and may be another one tomorrow.
absl::StatusOr<std::string> ReadConnection(const std::string& path) {
  ASSIGN_OR_RETURN(std::string content, ReadSecretFile(path, kMaxConnectionBytes + 1));
  absl::StripAsciiWhitespace(&content);
  if (content.empty() || content.size() > kMaxConnectionBytes ||
      content.find('\0') != std::string::npos) {
    return FieldError("postgres", absl::StrCat(path, " must hold one connection string"));
  }
  return content;
}

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenDatabase(const std::string& file,
                                                          const HeadKeys& keys) {
  PostgresOptions options;
  options.keys = keys;
  ASSIGN_OR_RETURN(options.connection, ReadConnection(file));
  options.connection_now = [file] { return ReadConnection(file); };
  return OpenPostgresStore(options);
}
#else
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenDatabase(const std::string&, const HeadKeys&) {
  return FieldError("postgres", "this server was built without PostgreSQL");
}
#endif

}  // namespace

std::string DescribeStore(const std::string& folder, const std::string& postgres_file) {
  return postgres_file.empty() ? std::filesystem::absolute(folder).string() : "PostgreSQL";
}

absl::StatusOr<bool> MakeFolder(const std::string& folder, const std::string& postgres_file) {
  if (!postgres_file.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError(error.value(), "create", folder);
  const bool is_empty = std::filesystem::is_empty(folder, error);
  if (error) return ErrnoError(error.value(), "list", folder);
  return is_empty;
}

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenStore(const std::string& folder,
                                                       const std::string& postgres_file,
                                                       const HeadKeys& keys) {
  if (!postgres_file.empty()) return OpenDatabase(postgres_file, keys);
  return OpenEmbeddedStore({.folder = folder, .keys = keys});
}

}  // namespace dpledger::server
