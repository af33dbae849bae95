#include "tests/fault/fault_fs_calls.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dpledger::testing {
namespace {

// Nothing that the kernel was told stays with it: each call comes here.
constexpr double kKeepSeconds = 0;

FaultCalls& Calls(fuse_req_t request) {
  return *static_cast<FaultCalls*>(fuse_req_userdata(request));
}
FaultDisk& Disk(fuse_req_t request) { return Calls(request).disk; }

timespec Now() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

struct stat StatOf(const Node& node) {
  struct stat result = {};
  result.st_ino = node.number;
  result.st_mode = node.attributes.mode;
  result.st_uid = node.attributes.uid;
  result.st_gid = node.attributes.gid;
  result.st_nlink = node.IsFolder() ? 2 : static_cast<nlink_t>(node.links);
  result.st_size =
      static_cast<off_t>(S_ISLNK(node.attributes.mode) ? node.target.size() : node.content.size());
  result.st_blksize = FileContent::kPageBytes;
  result.st_blocks = (result.st_size + 511) / 512;
  result.st_atim = node.attributes.accessed;
  result.st_mtim = result.st_ctim = node.attributes.modified;
  return result;
}

fuse_entry_param Remembered(fuse_req_t request, const NodePtr& node) {
  Disk(request).Remember(node);
  fuse_entry_param entry = {};
  entry.ino = node->number;
  entry.attr = StatOf(*node);
  entry.attr_timeout = entry.entry_timeout = kKeepSeconds;
  return entry;
}

void ReplyEntry(fuse_req_t request, const NodePtr& node) {
  const fuse_entry_param entry = Remembered(request, node);
  if (fuse_reply_entry(request, &entry) != 0) Disk(request).Forget(node->number, 1);
}

// The node of a call that may go on. Else null, and the call is answered.
NodePtr Admit(fuse_req_t request, const char* op, fuse_ino_t number,
              uint64_t* short_bytes = nullptr) {
  NodePtr node = Disk(request).Known(number);
  const int error = node == nullptr ? ESTALE : Disk(request).Judge(op, *node, short_bytes);
  if (error == 0) return node;
  fuse_reply_err(request, error);
  return nullptr;
}

// The same for a call on a name in a folder, judged by the name.
NodePtr AdmitName(fuse_req_t request, const char* op, fuse_ino_t folder, const char* name) {
  NodePtr node = Disk(request).Known(folder);
  Node named;
  named.name = name;
  const int error = node == nullptr ? ESTALE : Disk(request).Judge(op, named);
  if (error == 0) return node;
  fuse_reply_err(request, error);
  return nullptr;
}

NodePtr Entry(const NodePtr& folder, const std::string& name) {
  const auto found = folder->entries.find(name);
  return found == folder->entries.end() ? nullptr : found->second;
}

Attributes NewAttributes(fuse_req_t request, mode_t mode) {
  const fuse_ctx* caller = fuse_req_ctx(request);
  const timespec now = Now();
  return {mode, caller->uid, caller->gid, now, now};
}

void Init(void*, fuse_conn_info* connection) {
  // Truncation at open comes as a call of its own, which can fail by itself.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_WRITEBACK_CACHE);
}

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const NodePtr folder = AdmitName(request, "lookup", parent, name);
  if (folder == nullptr) return;
  const NodePtr node = Entry(folder, name);
  if (node == nullptr) {
    fuse_reply_err(request, ENOENT);
  } else {
    ReplyEntry(request, node);
  }
}

void Forget(fuse_req_t request, fuse_ino_t number, uint64_t times) {
  Disk(request).Forget(number, times);
  fuse_reply_none(request);
}

void GetAttributes(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  const NodePtr node = Admit(request, "getattr", number);
  if (node == nullptr) return;
  const struct stat result = StatOf(*node);
  fuse_reply_attr(request, &result, kKeepSeconds);
}

void SetAttributes(fuse_req_t request, fuse_ino_t number, struct stat* given, int which,
                   fuse_file_info*) {
  const bool sized = (which & FUSE_SET_ATTR_SIZE) != 0;
  const NodePtr node = Admit(request, sized ? "ftruncate" : "setattr", number);
  if (node == nullptr) return;
  Attributes& attributes = node->attributes;
  const timespec now = Now();
  if (sized) {
    if (static_cast<uint64_t>(given->st_size) > FileContent::kMostBytes) {
      fuse_reply_err(request, EFBIG);
      return;
    }
    node->content.Resize(static_cast<uint64_t>(given->st_size));
    attributes.modified = now;
  }
  if ((which & FUSE_SET_ATTR_MODE) != 0) {
    attributes.mode = (attributes.mode & S_IFMT) | (given->st_mode & 07777);
  }
  if ((which & FUSE_SET_ATTR_UID) != 0) attributes.uid = given->st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) attributes.gid = given->st_gid;
  if ((which & FUSE_SET_ATTR_ATIME) != 0) attributes.accessed = given->st_atim;
  if ((which & FUSE_SET_ATTR_MTIME) != 0) attributes.modified = given->st_mtim;
  if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0) attributes.accessed = now;
  if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) attributes.modified = now;
  const struct stat result = StatOf(*node);
  fuse_reply_attr(request, &result, kKeepSeconds);
}

void ReadLink(fuse_req_t request, fuse_ino_t number) {
  if (const NodePtr node = Admit(request, "readlink", number)) {
    fuse_reply_readlink(request, node->target.c_str());
  }
}

// Makes a node for a name that must be free; null if the call is answered.
NodePtr MakeNew(fuse_req_t request, const char* op, fuse_ino_t parent, const char* name,
                mode_t mode) {
  const NodePtr folder = AdmitName(request, op, parent, name);
  if (folder == nullptr) return nullptr;
  if (Entry(folder, name) != nullptr) {
    fuse_reply_err(request, EEXIST);
    return nullptr;
  }
  return Disk(request).tree().Make(folder, name, NewAttributes(request, mode));
}

void MakeFolder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  const NodePtr node = MakeNew(request, "mkdir", parent, name, S_IFDIR | (mode & 07777));
  if (node != nullptr) ReplyEntry(request, node);
}

void SymbolicLink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  const NodePtr node = MakeNew(request, "symlink", parent, name, S_IFLNK | 0777);
  if (node == nullptr) return;
  node->target = target;
  ReplyEntry(request, node);
}

void ReplyOpen(fuse_req_t request, const NodePtr& node, fuse_file_info* file, bool created) {
  file->direct_io = Calls(request).page_cache ? 0 : 1;
  if (!created) {
    fuse_reply_open(request, file);
    return;
  }
  const fuse_entry_param entry = Remembered(request, node);
  if (fuse_reply_create(request, &entry, file) != 0) Disk(request).Forget(node->number, 1);
}

void Create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) {
  const NodePtr node = MakeNew(request, "create", parent, name, S_IFREG | (mode & 07777));
  if (node != nullptr) ReplyOpen(request, node, file, true);
}

void Open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  if (const NodePtr node = Admit(request, "open", number)) ReplyOpen(request, node, file, false);
}

void Remove(fuse_req_t request, const char* op, fuse_ino_t parent, const char* name) {
  const NodePtr folder = AdmitName(request, op, parent, name);
  if (folder == nullptr) return;
  const NodePtr node = Entry(folder, name);
  int error = 0;
  if (node == nullptr) {
    error = ENOENT;
  } else if (!node->entries.empty()) {
    error = ENOTEMPTY;
  } else {
    Disk(request).tree().Remove(folder, name);
  }
  fuse_reply_err(request, error);
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Remove(request, "unlink", parent, name);
}

void RemoveFolder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Remove(request, "rmdir", parent, name);
}

void Rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  const NodePtr from = AdmitName(request, "rename", parent, new_name);
  if (from == nullptr) return;
  const NodePtr to = Disk(request).Known(new_parent);
  const NodePtr node = Entry(from, name);
  const NodePtr replaced = to == nullptr ? nullptr : Entry(to, new_name);
  int error = 0;
  if (to == nullptr || node == nullptr) {
    error = ENOENT;
  } else if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) {
    error = EINVAL;
  } else if (replaced != nullptr && (flags & RENAME_NOREPLACE) != 0) {
    error = EEXIST;
  } else if (replaced != nullptr && !replaced->entries.empty()) {
    error = ENOTEMPTY;
  } else if (replaced != node) {
    Disk(request).tree().Rename(from, name, to, new_name);
  }
  fuse_reply_err(request, error);
}

void Link(fuse_req_t request, fuse_ino_t number, fuse_ino_t new_parent, const char* new_name) {
  const NodePtr folder = AdmitName(request, "link", new_parent, new_name);
  if (folder == nullptr) return;
  const NodePtr node = Disk(request).Known(number);
  if (node == nullptr || Entry(folder, new_name) != nullptr) {
    fuse_reply_err(request, node == nullptr ? ENOENT : EEXIST);
    return;
  }
  Disk(request).tree().Link(node, folder, new_name);
  ReplyEntry(request, node);
}

void Read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info*) {
  uint64_t short_bytes = 0;
  const NodePtr node = Admit(request, "read", number, &short_bytes);
  if (node == nullptr) return;
  if (short_bytes > 0) size = std::min<uint64_t>(size, short_bytes);
  std::string bytes(size, '\0');
  const size_t count = node->content.Read(static_cast<uint64_t>(offset), bytes.data(), size);
  fuse_reply_buf(request, bytes.data(), count);
}

void Write(fuse_req_t request, fuse_ino_t number, const char* bytes, size_t size, off_t offset,
           fuse_file_info* file) {
  uint64_t short_bytes = 0;
  const NodePtr node = Admit(request, "write", number, &short_bytes);
  if (node == nullptr) return;
  if (short_bytes > 0) size = std::min<uint64_t>(size, short_bytes);
  if (static_cast<uint64_t>(offset) + size > FileContent::kMostBytes) {
    fuse_reply_err(request, EFBIG);
    return;
  }
  node->content.Write(static_cast<uint64_t>(offset), {bytes, size});
  node->attributes.modified = Now();
  if ((file->flags & O_DSYNC) != 0) Disk(request).Sync(node, (file->flags & O_SYNC) != O_SYNC);
  fuse_reply_write(request, size);
}

void Allocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length,
              fuse_file_info*) {
  const NodePtr node = Admit(request, "fallocate", number);
  if (node == nullptr) return;
  const auto begin = static_cast<uint64_t>(offset);
  const auto count = static_cast<uint64_t>(length);
  int error = 0;
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) {
    error = EOPNOTSUPP;
  } else if (begin + count > FileContent::kMostBytes) {
    error = EFBIG;
  } else {
    if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) {
      node->content.Clear(begin, count);
    }
    if ((mode & FALLOC_FL_KEEP_SIZE) == 0 && begin + count > node->content.size()) {
      node->content.Resize(begin + count);
    }
  }
  fuse_reply_err(request, error);
}

// A failed fsync leaves the bytes clean and not durable, as Linux does.
void Sync(fuse_req_t request, fuse_ino_t number, int data_only, fuse_file_info*) {
  const NodePtr node = Disk(request).Known(number);
  const int error =
      node == nullptr ? ESTALE : Disk(request).Judge(data_only != 0 ? "fdatasync" : "fsync", *node);
  if (error == 0) Disk(request).Sync(node, data_only != 0);
  if (error != 0 && node != nullptr) node->content.ForgetDirty();
  fuse_reply_err(request, error);
}

void SyncFolder(fuse_req_t request, fuse_ino_t number, int data_only, fuse_file_info*) {
  const NodePtr node = Admit(request, "fsyncdir", number);
  if (node == nullptr) return;
  Disk(request).Sync(node, data_only != 0);
  fuse_reply_err(request, 0);
}

// The names of a folder as they are when it is read from its beginning, so that removing them
// meanwhile skips none.
using Listing = std::vector<std::pair<std::string, struct stat>>;

void OpenFolder(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  auto* listing = new Listing;
  file->fh = reinterpret_cast<uint64_t>(listing);
  if (fuse_reply_open(request, file) != 0) delete listing;
}

void ReleaseFolder(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  delete reinterpret_cast<Listing*>(file->fh);
  fuse_reply_err(request, 0);
}

void ReadFolder(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                fuse_file_info* file) {
  const NodePtr folder = Admit(request, "readdir", number);
  if (folder == nullptr) return;
  Listing& listing = *reinterpret_cast<Listing*>(file->fh);
  if (offset == 0) {
    const NodePtr above = folder->parent.lock();
    listing = {{".", StatOf(*folder)}, {"..", StatOf(above == nullptr ? *folder : *above)}};
    for (const auto& [name, node] : folder->entries) listing.emplace_back(name, StatOf(*node));
  }
  std::string buffer(size, '\0');
  size_t used = 0;
  for (auto i = static_cast<size_t>(offset); i < listing.size(); ++i) {
    const auto& [name, attributes] = listing[i];
    const size_t needed = fuse_add_direntry(request, buffer.data() + used, size - used,
                                            name.c_str(), &attributes, static_cast<off_t>(i + 1));
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(request, buffer.data(), used);
}

// Space enough for every program that asks before it writes.
void Space(fuse_req_t request, fuse_ino_t) {
  struct statvfs space = {};
  space.f_bsize = space.f_frsize = FileContent::kPageBytes;
  space.f_blocks = space.f_bfree = space.f_bavail = uint64_t{1} << 28;
  space.f_files = space.f_ffree = space.f_favail = 1 << 20;
  space.f_namemax = 255;
  fuse_reply_statfs(request, &space);
}

}  // namespace

fuse_lowlevel_ops FaultOperations() {
  fuse_lowlevel_ops ops = {};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.forget = Forget;
  ops.getattr = GetAttributes;
  ops.setattr = SetAttributes;
  ops.readlink = ReadLink;
  ops.mkdir = MakeFolder;
  ops.symlink = SymbolicLink;
  ops.create = Create;
  ops.open = Open;
  ops.unlink = Unlink;
  ops.rmdir = RemoveFolder;
  ops.rename = Rename;
  ops.link = Link;
  ops.read = Read;
  ops.write = Write;
  ops.fallocate = Allocate;
  ops.fsync = Sync;
  ops.fsyncdir = SyncFolder;
  ops.opendir = OpenFolder;
  ops.readdir = ReadFolder;
  ops.releasedir = ReleaseFolder;
  ops.statfs = Space;
  return ops;
}

}  // namespace dpledger::testing
