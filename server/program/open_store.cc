#include "server/program/open_store.h"

#include <filesystem>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
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
  // Nothing of the string itself, which may have a password in it, goes into a log.
  if (path.find('=') != std::string::npos || path.find("://") != std::string::npos) {
    return FieldError("postgres",
                      "must be the path of a file that holds the connection string (without \"=\" "
                      "and \"://\"), not that string");
  }
  ASSIGN_OR_RETURN(std::string content, ReadSecretFile(path, kMaxConnectionBytes + 1));
  absl::StripAsciiWhitespace(&content);
  if (content.empty() || content.size() > kMaxConnectionBytes ||
      content.find('\0') != std::string::npos) {
    return FieldError("postgres", absl::StrCat(path, " must hold one connection string"));
  }
  return content;
}

// Reads the file for one connection after the other. Thread safe.
class ConnectionFile {
 public:
  ConnectionFile(std::string path, std::string known, const Log* log)
      : path_(std::move(path)), known_(std::move(known)), log_(log) {}
  absl::StatusOr<std::string> Read() {
    absl::StatusOr<std::string> now = ReadConnection(path_);
    absl::MutexLock lock(&mutex_);
    const bool news = now.ok() ? *now != known_ : is_read_;
    if (news && log_ != nullptr) {
      log_->Write(now.ok() ? LogLevel::kInfo : LogLevel::kWarning,
                  now.ok() ? "postgres_connection_read_again" : "postgres_connection_unreadable",
                  {{"file", path_}, {"message", std::string(now.status().message())}});
    }
    is_read_ = now.ok();
    if (now.ok()) known_ = *now;
    return now;
  }

 private:
  const std::string path_;
  absl::Mutex mutex_;
  std::string known_ ABSL_GUARDED_BY(mutex_);
  bool is_read_ ABSL_GUARDED_BY(mutex_) = true;
  const Log* const log_;
};

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenDatabase(const std::string& file,
                                                          const HeadKeys& keys, const Log* log) {
  PostgresOptions options;
  options.keys = keys;
  ASSIGN_OR_RETURN(options.connection, ReadConnection(file));
  options.connection_now = [again = std::make_shared<ConnectionFile>(
                                file, options.connection, log)] { return again->Read(); };
  if (log != nullptr) {
    options.on_copy = [log](const std::string& was, const std::string& is) {
      log->Write(LogLevel::kWarning, "database_is_a_copy",
                 {{"was", was},
                  {"is", is},
                  {"message",
                   "the database lies elsewhere than at the last start: it is a copy, or was "
                   "restored from a dump. If the one that it came from is still served with this "
                   "signing key, two histories are signed: stop one of the two"}});
    };
  }
  return OpenPostgresStore(options);
}
#else
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenDatabase(const std::string&, const HeadKeys&,
                                                          const Log*) {
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
  // One that is made is its owner's alone: entries tell more than calls show to everybody.
  if (std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return ErrnoError(error.value(), "make the store's folder", folder);
  const bool is_empty = std::filesystem::is_empty(folder, error);
  if (error) return ErrnoError(error.value(), "list the store's folder", folder);
  return is_empty;
}

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenStore(const std::string& folder,
                                                       const std::string& postgres_file,
                                                       const HeadKeys& keys, const Log* log) {
  if (!postgres_file.empty()) return OpenDatabase(postgres_file, keys, log);
  return OpenEmbeddedStore({.folder = folder, .keys = keys});
}

}  // namespace dpledger::server
