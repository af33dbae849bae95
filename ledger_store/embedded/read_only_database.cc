#include "ledger_store/embedded/read_only_database.h"

#include "ledger_store/embedded/rocksdb_options.h"

namespace dpledger::embedded {
namespace {

// Refuses whatever would change a file.
class RefusingEnv : public rocksdb::EnvWrapper {
 public:
  explicit RefusingEnv(rocksdb::Env* base) : rocksdb::EnvWrapper(base) {}
  const char* Name() const override { return "RefusingEnv"; }

  rocksdb::Status NewWritableFile(const std::string& name, std::unique_ptr<rocksdb::WritableFile>*,
                                  const rocksdb::EnvOptions&) override {
    return Refuse(name);
  }
  rocksdb::Status ReopenWritableFile(const std::string& name,
                                     std::unique_ptr<rocksdb::WritableFile>*,
                                     const rocksdb::EnvOptions&) override {
    return Refuse(name);
  }
  rocksdb::Status ReuseWritableFile(const std::string& name, const std::string&,
                                    std::unique_ptr<rocksdb::WritableFile>*,
                                    const rocksdb::EnvOptions&) override {
    return Refuse(name);
  }
  rocksdb::Status NewRandomRWFile(const std::string& name, std::unique_ptr<rocksdb::RandomRWFile>*,
                                  const rocksdb::EnvOptions&) override {
    return Refuse(name);
  }
  rocksdb::Status DeleteFile(const std::string& name) override { return Refuse(name); }
  rocksdb::Status Truncate(const std::string& name, size_t) override { return Refuse(name); }
  rocksdb::Status CreateDir(const std::string& name) override { return Refuse(name); }
  rocksdb::Status CreateDirIfMissing(const std::string& name) override {
    return FileExists(name).ok() ? rocksdb::Status::OK() : Refuse(name);
  }
  rocksdb::Status DeleteDir(const std::string& name) override { return Refuse(name); }
  rocksdb::Status RenameFile(const std::string& name, const std::string&) override {
    return Refuse(name);
  }
  rocksdb::Status LinkFile(const std::string& name, const std::string&) override {
    return Refuse(name);
  }
  rocksdb::Status NewLogger(const std::string& name, std::shared_ptr<rocksdb::Logger>*) override {
    return Refuse(name);
  }

 private:
  static rocksdb::Status Refuse(const std::string& name) {
    return rocksdb::Status::NotSupported("not written: the store is only looked at", name);
  }
};

}  // namespace

ReadOnlyDatabase OpenReadOnly(const std::string& folder, rocksdb::WALRecoveryMode recovery) {
  ReadOnlyDatabase database;
  database.env = std::make_unique<RefusingEnv>(rocksdb::Env::Default());
  rocksdb::Options options = DatabaseOptions(database.env.get());
  options.create_if_missing = false;
  options.wal_recovery_mode = recovery;
  rocksdb::DB* opened = nullptr;
  database.status = rocksdb::DB::OpenForReadOnly(options, folder, &opened);
  database.db.reset(opened);
  return database;
}

}  // namespace dpledger::embedded
