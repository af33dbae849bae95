#include "ledger_store/embedded/backup.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/embedded/folder.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

constexpr char kStoreFolder[] = "store";
constexpr size_t kMostManifestBytes = size_t{64} << 20;
constexpr size_t kChunk = size_t{1} << 20;
// Written through as it goes: one sync of gigabytes at the end would hold up the syncs of a server
// that writes to the same disk.
constexpr uint64_t kSyncEvery = uint64_t{8} << 20;

// RocksDB's own lock and its log for people.
bool LeftOut(std::string_view name) { return name == "LOCK" || name.starts_with("LOG"); }

// Counts the bytes of all files together.
class Copier {
 public:
  explicit Copier(const CopyProgress& progress) : progress_(progress) {}

  // Copies a file and syncs the copy; its size and hash.
  absl::StatusOr<BackupFile> Copy(const fs::path& from, const fs::path& to) {
    const bundle::FileDescriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (source.get() < 0) return ErrnoError(errno, "open", from.string());
    const bundle::FileDescriptor target(
        ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (target.get() < 0) return ErrnoError(errno, "create", to.string());
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free);
    bool hashed = hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
    BackupFile file{.name = from.filename().string()};
    for (uint64_t unsynced = 0;;) {
      const ssize_t size = ::read(source.get(), buffer_.data(), buffer_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return ErrnoError(errno, "read", from.string());
      if (size == 0) break;
      const std::string_view bytes(buffer_.data(), static_cast<size_t>(size));
      hashed = hashed && EVP_DigestUpdate(hash.get(), bytes.data(), bytes.size()) == 1;
      RETURN_IF_ERROR(WriteAll(target.get(), bytes, to.string()));
      file.bytes += bytes.size();
      unsynced += bytes.size();
      if (unsynced >= kSyncEvery) {
        unsynced = 0;
        RETURN_IF_ERROR(Sync(target.get(), to));
      }
      copied_ += bytes.size();
      if (progress_) RETURN_IF_ERROR(progress_(copied_));
    }
    RETURN_IF_ERROR(Sync(target.get(), to));
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int digest_bytes = 0;
    hashed = hashed && EVP_DigestFinal_ex(hash.get(), digest, &digest_bytes) == 1;
    if (!hashed) return absl::InternalError("SHA-256 failed");
    file.sha256 = HexEncode({reinterpret_cast<const char*>(digest), digest_bytes});
    return file;
  }

 private:
  static absl::Status Sync(int fd, const fs::path& path) {
    if (::fdatasync(fd) != 0) return ErrnoError(errno, "sync", path.string());
    // The server's pages are worth more than the copy's.
    (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return absl::OkStatus();
  }

  const CopyProgress& progress_;
  std::string buffer_ = std::string(kChunk, '\0');
  uint64_t copied_ = 0;
};

absl::StatusOr<std::vector<std::string>> FilesOf(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const fs::file_type type = it->symlink_status().type();
    if (LeftOut(name) || type == fs::file_type::directory) continue;
    if (type != fs::file_type::regular || !BackupFile::IsName(name)) {
      return absl::FailedPreconditionError(
          absl::StrCat(it->path().string(), ": is not a file of a store"));
    }
    names.push_back(name);
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder.string());
  if (std::find(names.begin(), names.end(), "CURRENT") == names.end())
    return absl::NotFoundError(absl::StrCat(folder.string(), ": there is no store"));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status CheckFree(const std::string& to) {
  struct stat found = {};
  if (::lstat(to.c_str(), &found) != 0 && errno == ENOENT) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat(to, ": is there already; give the name of a folder that is to be made"));
}

// A folder under another name until Finish. Removed if that is not called.
class PartialFolder {
 public:
  static absl::StatusOr<std::unique_ptr<PartialFolder>> Make(const std::string& name) {
    const fs::path path = fs::path(name).lexically_normal();
    const std::string whole = (path.has_filename() ? path : path.parent_path()).string();
    RETURN_IF_ERROR(CheckFree(whole));
    std::string partial = whole + ".partial";
    if (::mkdir(partial.c_str(), 0700) != 0) {
      const int error = errno;
      return error == EEXIST ? absl::AlreadyExistsError(absl::StrCat(
                                   partial,
                                   ": is there already, from a copy that was interrupted or is "
                                   "running; remove it if none is running"))
                             : ErrnoError(error, "create", partial);
    }
    return std::unique_ptr<PartialFolder>(new PartialFolder(whole, std::move(partial)));
  }
  ~PartialFolder() {
    if (finished_) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  std::string Parent() const {
    const fs::path parent = fs::path(whole_).parent_path();
    return parent.empty() ? "." : parent.string();
  }
  absl::Status Finish() {
    RETURN_IF_ERROR(SyncDirectory(path_.string()));
    // A folder that came meanwhile is replaced only if it is empty (rename(2)).
    if (::rename(path_.c_str(), whole_.c_str()) != 0) return ErrnoError(errno, "rename", whole_);
    finished_ = true;
    return SyncDirectory(Parent());
  }

 private:
  PartialFolder(std::string whole, std::string partial)
      : whole_(std::move(whole)), path_(std::move(partial)) {}
  const std::string whole_;
  const fs::path path_;
  bool finished_ = false;
};

absl::StatusOr<BackupManifest> ReadManifest(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(path.string(),
                     ": there is no such file; --from takes a folder that `dpledger-server "
                     "backup` made"));
  }
  if (size > kMostManifestBytes)
    return FieldError(BackupManifest::kFile, "the file is too long for a manifest");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path.string()));
  return BackupManifest::Parse(text);
}

absl::Status Compare(const BackupFile& named, const BackupFile& copied, const std::string& path) {
  if (named.bytes == copied.bytes && named.sha256 == copied.sha256) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": is not what was backed up: it has ",
                                          copied.bytes, " bytes with the SHA-256 ", copied.sha256,
                                          ", and had ", named.bytes, " with ", named.sha256));
}

}  // namespace

namespace {

bool IsWithin(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(path, error), outer = fs::canonical(folder, error);
  return !error &&
         std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

absl::StatusOr<BackupManifest> MakeBackup(const std::string& from, const std::string& to,
                                          const BackupManifest& about,
                                          const CopyProgress& progress) {
  if (IsWithin(to, from))
    return FieldError("to", absl::StrCat("must not be within the store, got ", to));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesOf(from));
  ASSIGN_OR_RETURN(const std::unique_ptr<PartialFolder> folder, PartialFolder::Make(to));
  const fs::path store = folder->path() / kStoreFolder;
  if (::mkdir(store.c_str(), 0700) != 0) return ErrnoError(errno, "create", store.string());
  BackupManifest manifest{.created = about.created, .version = about.version, .files = {}};
  Copier copier(progress);
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(BackupFile file, copier.Copy(fs::path(from) / name, store / name));
    manifest.files.push_back(std::move(file));
  }
  RETURN_IF_ERROR(SyncDirectory(store.string()));
  RETURN_IF_ERROR(
      WriteFileDurably((folder->path() / BackupManifest::kFile).string(), manifest.ToText()));
  RETURN_IF_ERROR(folder->Finish());
  return manifest;
}

absl::StatusOr<BackupManifest> RestoreBackup(const std::string& from, const std::string& to,
                                             const CopyProgress& progress) {
  ASSIGN_OR_RETURN(BackupManifest manifest, ReadManifest(fs::path(from) / BackupManifest::kFile));
  ASSIGN_OR_RETURN(const std::unique_ptr<PartialFolder> folder, PartialFolder::Make(to));
  Copier copier(progress);
  for (const BackupFile& named : manifest.files) {
    const fs::path source = fs::path(from) / kStoreFolder / named.name;
    ASSIGN_OR_RETURN(const BackupFile copied, copier.Copy(source, folder->path() / named.name));
    RETURN_IF_ERROR(Compare(named, copied, source.string()));
  }
  struct stat parent = {};
  if (::stat(folder->Parent().c_str(), &parent) != 0)
    return ErrnoError(errno, "look at", folder->Parent());
  parent.st_mode = 0700;
  if (::geteuid() != 0) {  // who may not give files away keeps them
    parent.st_uid = ::geteuid();
    parent.st_gid = ::getegid();
  }
  RETURN_IF_ERROR(SyncAll(folder->path().string(), parent));
  RETURN_IF_ERROR(folder->Finish());
  return manifest;
}

}  // namespace dpledger::embedded
