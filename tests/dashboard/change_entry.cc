// What somebody with the disk can do: change_entry STORE LEDGER FROM TO replaces a text in the
// stored entries of a ledger by another one of the same length, so that RocksDB's checksums and the
// entries' encoding stay as they must.
#include <cstdio>
#include <memory>
#include <string>

#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {
namespace {

// Exit code 0 if it was changed once.
int Change(const std::string& folder, const std::string& ledger, const std::string& from,
           const std::string& to) {
  rocksdb::DB* opened = nullptr;
  if (from.size() != to.size() ||
      !rocksdb::DB::Open(DatabaseOptions(nullptr), folder, &opened).ok()) {
    return 1;
  }
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::string id;
  if (!db->Get({}, NameKey(ledger), &id).ok()) return 1;
  const std::string prefix = TablePrefix(Table::kBatch) + id;
  std::string key, row;
  {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
      if (it->value().ToString().find(from) == std::string::npos) continue;
      key = it->key().ToString();
      row = it->value().ToString();
    }
  }
  if (key.empty()) return 1;
  return db->Put({}, key, row.replace(row.find(from), from.size(), to)).ok() ? 0 : 1;
}

}  // namespace
}  // namespace dpledger::embedded

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: change_entry STORE LEDGER FROM TO\n");
    return 2;
  }
  return dpledger::embedded::Change(argv[1], argv[2], argv[3], argv[4]);
}
