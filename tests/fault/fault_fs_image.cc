#include "tests/fault/fault_fs_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{1} << 20;

absl::Status Failure(const std::string& what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
}

struct Loader {
  FaultTree& tree;
  std::map<std::pair<dev_t, ino_t>, NodePtr> seen;  // for hard links

  absl::Status Bytes(const std::string& path, uint64_t size, Node& node) {
    if (size > FileContent::kMostBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is too large, ", size, " bytes"));
    }
    std::ifstream file(path, std::ios::binary);
    std::string piece(kPieceBytes, '\0');
    uint64_t offset = 0;
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
           file.gcount() > 0) {
      const auto count = static_cast<size_t>(file.gcount());
      node.content.Write(offset, {piece.data(), count});
      offset += count;
    }
    if (offset != size) return absl::InternalError(absl::StrCat("cannot read ", path));
    return absl::OkStatus();
  }

  absl::Status Entry(const fs::path& path, const NodePtr& folder) {
    struct stat found = {};
    if (lstat(path.c_str(), &found) != 0) return Failure("cannot look at", path);
    const auto identity = std::make_pair(found.st_dev, found.st_ino);
    if (const auto other = seen.find(identity); other != seen.end()) {
      tree.Link(other->second, folder, path.filename());
      return absl::OkStatus();
    }
    const Attributes attributes = {found.st_mode, found.st_uid, found.st_gid, found.st_atim,
                                   found.st_mtim};
    const NodePtr node = tree.Make(folder, path.filename(), attributes);
    if (!node->IsFolder()) seen[identity] = node;
    if (node->IsFolder()) {
      RETURN_IF_ERROR(Folder(path, node));
      node->attributes = attributes;
      return absl::OkStatus();
    }
    if (S_ISREG(found.st_mode)) {
      return Bytes(path, static_cast<uint64_t>(found.st_size), *node);
    }
    if (!S_ISLNK(found.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), ": must be a file, a directory or a symbolic link"));
    }
    node->target = fs::read_symlink(path);
    return absl::OkStatus();
  }

  absl::Status Folder(const fs::path& path, const NodePtr& node) {
    std::error_code error;
    std::set<fs::path> paths;
    for (auto at = fs::directory_iterator(path, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      paths.insert(at->path());
    }
    if (error) return absl::InternalError(absl::StrCat("cannot read ", path.string()));
    for (const fs::path& entry : paths) RETURN_IF_ERROR(Entry(entry, node));
    return absl::OkStatus();
  }
};

struct Storer {
  std::map<const Node*, std::string> stored;  // for hard links

  absl::Status Bytes(const Node& node, const std::string& path) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    std::string piece(std::min<uint64_t>(kPieceBytes, node.content.durable_size()), '\0');
    for (uint64_t offset = 0; offset < node.content.durable_size();) {
      const size_t count = node.content.ReadDurable(offset, piece.data(), piece.size());
      file.write(piece.data(), static_cast<std::streamsize>(count));
      offset += count;
    }
    if (!file.flush()) return Failure("cannot write", path);
    return absl::OkStatus();
  }

  absl::Status Dress(const Attributes& attributes, const std::string& path) {
    if (geteuid() == 0 && lchown(path.c_str(), attributes.uid, attributes.gid) != 0) {
      return Failure("cannot give away", path);
    }
    const timespec times[2] = {attributes.accessed, attributes.modified};
    utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
    if (S_ISLNK(attributes.mode)) return absl::OkStatus();
    if (chmod(path.c_str(), attributes.mode & 07777) != 0) return Failure("cannot chmod", path);
    return absl::OkStatus();
  }

  absl::Status Entry(const Node& node, const std::string& path) {
    if (node.IsFolder()) {
      if (mkdir(path.c_str(), 0700) != 0) return Failure("cannot make", path);
      RETURN_IF_ERROR(Folder(node, path));
      return Dress(node.durable_attributes, path);
    }
    const auto [other, first] = stored.emplace(&node, path);
    if (!first) {
      if (link(other->second.c_str(), path.c_str()) != 0) return Failure("cannot link", path);
      return absl::OkStatus();
    }
    if (S_ISLNK(node.attributes.mode)) {
      if (symlink(node.target.c_str(), path.c_str()) != 0) return Failure("cannot link", path);
    } else {
      RETURN_IF_ERROR(Bytes(node, path));
    }
    return Dress(node.durable_attributes, path);
  }

  absl::Status Folder(const Node& node, const std::string& path) {
    for (const auto& [name, entry] : node.durable_entries) {
      RETURN_IF_ERROR(Entry(*entry, absl::StrCat(path, "/", name)));
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status LoadImage(const std::string& folder, FaultTree& tree) {
  struct stat found = {};
  if (stat(folder.c_str(), &found) != 0) return Failure("cannot look at", folder);
  if (!S_ISDIR(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": must be a directory"));
  }
  RETURN_IF_ERROR((Loader{tree, {}}.Folder(folder, tree.root())));
  tree.root()->attributes = {found.st_mode, found.st_uid, found.st_gid, found.st_atim,
                             found.st_mtim};
  tree.SyncAll();
  return absl::OkStatus();
}

absl::Status StoreImage(const FaultTree& tree, const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    fs::remove_all(entry.path(), error);
    if (error) break;
  }
  if (error) return absl::InternalError(absl::StrCat("cannot empty ", folder));
  Storer storer;
  RETURN_IF_ERROR(storer.Folder(*tree.root(), folder));
  return storer.Dress(tree.root()->durable_attributes, folder);
}

}  // namespace dpledger::testing
