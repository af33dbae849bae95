// The names of the fault-injecting file system, twice like its bytes (fault_fs_content.h): what
// programs see, and what the disk would hold if the power went now.
//
// The model, the strictest that RocksDB and PostgreSQL 15 are written for:
//  1. Bytes and size of a file are durable by its own fsync or fdatasync; mode, owner and times by
//     its fsync alone.
//  2. A change of names (create, mkdir, link, symlink, rename, unlink, rmdir) is durable by fsync
//  of
//     the directory; a rename is atomic, and durable by either of its directories. Earlier changes
//     of the same names come with it.
//  3. fsync or fdatasync of a new file or directory that has no durable name yet also makes durable
//     the name it has now, and its parents', as ext4 does: PostgreSQL 15 syncs new relation files
//     but not their directories. It is not enough for a rename of a file that had a durable name.
//  4. Otherwise a power cut keeps, with Survival::kNothing, no unsynced change of names; else a
//     random number of the first ones in the order in which they were made, as a journal does.
// Not thread safe.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/fault/fault_fs_content.h"

namespace dpledger::testing {

struct Node;
using NodePtr = std::shared_ptr<Node>;

struct Attributes {
  mode_t mode = 0;  // with the file type
  uid_t uid = 0;
  gid_t gid = 0;
  timespec accessed = {};
  timespec modified = {};
};

// A file, directory or symbolic link.
struct Node {
  uint64_t number = 0;
  Attributes attributes;
  Attributes durable_attributes;
  FileContent content;                             // of a file
  std::string target;                              // of a symbolic link
  std::map<std::string, NodePtr> entries;          // of a directory
  std::map<std::string, NodePtr> durable_entries;  // of a directory
  std::weak_ptr<Node> parent;                      // where it was last named
  std::string name;                                // and how
  int links = 0;
  int durable_links = 0;

  bool IsFolder() const { return S_ISDIR(attributes.mode); }
};

class FaultTree {
 public:
  FaultTree();

  const NodePtr& root() const { return root_; }

  // Changes of names. Callers check that they are allowed.
  NodePtr Make(const NodePtr& folder, const std::string& name, const Attributes& attributes);
  void Link(const NodePtr& node, const NodePtr& folder, const std::string& name);
  void Remove(const NodePtr& folder, const std::string& name);
  void Rename(const NodePtr& from, const std::string& old_name, const NodePtr& to,
              const std::string& new_name);

  // fsync; with data_only, fdatasync.
  void Sync(const NodePtr& node, bool data_only);
  // What a clean unmount does.
  void SyncAll();
  // Makes the durable state what the disk holds after a power cut now. The same seed after the same
  // calls leaves the same.
  void CutPower(Survival survival, uint64_t seed);

 private:
  struct EntryChange {
    NodePtr folder;
    std::string name;
    NodePtr node;  // null: removed
  };
  using Change = std::vector<EntryChange>;

  void Do(Change change);
  static void Apply(const Change& change);
  // Applies what waits for `folder` (all of it) and for the name of every node on the way to the
  // root that has no durable one.
  void SyncNames(const NodePtr& node);

  NodePtr root_;
  uint64_t next_number_ = 1;
  std::list<Change> waiting_;  // in the order in which they were made
};

}  // namespace dpledger::testing
