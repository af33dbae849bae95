// Files of a run's state: bytes from a disk, and contents that come back as they were kept. The
// file is real, in memory where the machine has such a folder.
#include "client/run_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "client/internal/state_bytes.h"
#include "tests/fuzz/target.h"

namespace dpledger::fuzz {
namespace {

using client::RunPosition;
using client::RunState;

constexpr char kKey[] = "0123456789abcdef0123456789abcdef";

// A folder of this process, removed when it ends.
class Folder {
 public:
  Folder() {
    std::string path = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path += "/dpledger-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(path.data()) != nullptr);
    path_ = path;
    std::ofstream(key_file()) << kKey;
    FUZZ_CHECK(::chmod(key_file().c_str(), 0600) == 0);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_; }
  std::string key_file() const { return path_ + "/key"; }
  std::string state_file() const { return path_ + "/p~a~w.sampler.state"; }

 private:
  std::string path_;
};

RunPosition Position(const std::string& incarnation, const std::string& previous) {
  RunPosition position;
  position.ledger = "projects/p/ledgers/a";
  position.writer = "w";
  position.incarnation = incarnation;
  position.previous_incarnation = previous;
  return position;
}

void ReadBytes(const Folder& folder, std::string_view input) {
  std::ofstream(folder.state_file(), std::ios::binary | std::ios::trunc) << input;
  const auto state = RunState::Open(folder.path(), folder.key_file());
  FUZZ_CHECK(state.ok());
  if ((*state)->CarryOn(Position("second", "first")).ok()) {
    (void)(*state)->Take(RunState::Kind::kSampler);
  }
  std::filesystem::remove(folder.state_file());
}

void KeepAndCarryOn(const Folder& folder, std::string_view input) {
  std::filesystem::remove(folder.state_file());
  const auto first = RunState::Open(folder.path(), folder.key_file());
  FUZZ_CHECK(first.ok() && !*(*first)->CarryOn(Position("first", "")));
  FUZZ_CHECK((*first)->Store(RunState::Kind::kSampler, input).ok());
  const auto second = RunState::Open(folder.path(), folder.key_file());
  FUZZ_CHECK(second.ok());
  const auto carried = (*second)->CarryOn(Position("second", "first"));
  FUZZ_CHECK(carried.ok() && *carried);
  FUZZ_CHECK((*second)->Take(RunState::Kind::kSampler) == input);
  std::filesystem::remove(folder.state_file());
}

void ReadFields(std::string_view input) {
  client::internal::StateReader reader(input);
  for (int i = 0; i < 64 && reader.ok(); ++i) {
    uint64_t numbers[3];
    if (reader.Number() % 2 == 0) {
      (void)reader.String();
    } else {
      reader.Array(absl::MakeSpan(numbers));
    }
    FUZZ_CHECK(reader.rest().size() <= input.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  std::string_view input = Text(data, size);
  const int choice = TakeChoice(input) % 16;
  if (choice == 0) {
    KeepAndCarryOn(folder, input);  // syncs a file: the slow one
  } else if (choice < 8) {
    ReadBytes(folder, input);
  } else {
    ReadFields(input);
  }
  return 0;
}

}  // namespace dpledger::fuzz
