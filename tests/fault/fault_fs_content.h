// The bytes of one file of the fault-injecting file system, twice: what programs see, and what the
// disk would hold if the power went now.
//
// Invariants:
//  1. Sync() makes the durable bytes equal the visible ones; nothing else but a power cut changes
//     the durable ones.
//  2. After ForgetDirty() the visible bytes stay, and a later Sync() does not write them: so does
//     Linux after a failed fsync, which marks the pages clean ("Can Applications Recover from fsync
//     Failures?", Rebello et al., USENIX ATC 2020, section 3).
// Not thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string_view>
#include <vector>

namespace dpledger::testing {

// What of the unsynced bytes a power cut leaves.
enum class Survival {
  kNothing,  // all unsynced bytes are lost
  // A random set of 4 KiB pages and 512-byte sectors that were overwritten is kept; of what a file
  // grew by, a random prefix, or zeros to the end of its last page: ext4 with data=ordered, which
  // writes the bytes of new blocks before the size that covers them (Linux, ext4 documentation,
  // "Data Mode").
  kTorn,
  // The same, but also what a file grew by keeps any set of sectors, with zeros between: a file
  // system that does not order data before sizes, on a disk without barriers.
  kTornWithHoles,
};

class FileContent {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kSectorBytes = 512;
  static constexpr uint64_t kMostBytes = uint64_t{8} << 30;  // callers answer EFBIG above

  uint64_t size() const { return visible_.size; }
  // Copies what lies in [offset, offset + count); how many bytes that were (0 at the end).
  size_t Read(uint64_t offset, char* out, size_t count) const;
  // offset + bytes.size() <= kMostBytes. A gap before `offset` reads as zeros.
  void Write(uint64_t offset, std::string_view bytes);
  // size <= kMostBytes; new bytes are zeros.
  void Resize(uint64_t size);
  // Zeros over [offset, offset + count), as far as the file reaches.
  void Clear(uint64_t offset, uint64_t count);

  void Sync();
  void ForgetDirty() { dirty_.clear(); }

  // Makes the durable bytes what the disk holds after a power cut now.
  void CutPower(Survival survival, std::mt19937_64& random);
  uint64_t durable_size() const { return durable_.size; }
  size_t ReadDurable(uint64_t offset, char* out, size_t count) const;

 private:
  using Page = std::array<char, kPageBytes>;
  struct Image {
    uint64_t size = 0;
    std::vector<std::shared_ptr<Page>> pages;  // null: zeros; shared pages are never written
  };
  static size_t ReadImage(const Image& image, uint64_t offset, char* out, size_t count);
  // The page for writing, this image's own.
  static Page& OwnPage(Image& image, uint64_t index);
  static void SetSize(Image& image, uint64_t size);
  // Lets visible bytes of [begin, end), which lie in one page, reach the disk.
  void Keep(uint64_t begin, uint64_t end);
  void KeepSectors(uint64_t page, uint64_t begin, uint64_t end, std::mt19937_64& random);

  Image visible_;
  Image durable_;
  std::set<uint64_t> dirty_;  // indexes of pages to write at the next Sync
};

}  // namespace dpledger::testing
