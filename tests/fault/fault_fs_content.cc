#include "tests/fault/fault_fs_content.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace dpledger::testing {
namespace {

uint64_t Pages(uint64_t bytes) {
  return (bytes + FileContent::kPageBytes - 1) / FileContent::kPageBytes;
}

}  // namespace

size_t FileContent::ReadImage(const Image& image, uint64_t offset, char* out, size_t count) {
  if (offset >= image.size) return 0;
  count = std::min<uint64_t>(count, image.size - offset);
  for (size_t done = 0; done < count;) {
    const uint64_t index = (offset + done) / kPageBytes;
    const uint64_t start = (offset + done) % kPageBytes;
    const size_t part = std::min<uint64_t>(count - done, kPageBytes - start);
    if (image.pages[index] == nullptr) {
      std::memset(out + done, 0, part);
    } else {
      std::memcpy(out + done, image.pages[index]->data() + start, part);
    }
    done += part;
  }
  return count;
}

FileContent::Page& FileContent::OwnPage(Image& image, uint64_t index) {
  std::shared_ptr<Page>& page = image.pages[index];
  if (page == nullptr) {
    page = std::make_shared<Page>();
    page->fill(0);
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

// Bytes after the end are zeros in every image, so that growing needs no work.
void FileContent::SetSize(Image& image, uint64_t size) {
  image.pages.resize(Pages(size));
  if (size < image.size && size % kPageBytes != 0 && image.pages[size / kPageBytes] != nullptr) {
    Page& last = OwnPage(image, size / kPageBytes);
    std::fill(last.begin() + size % kPageBytes, last.end(), 0);
  }
  image.size = size;
}

size_t FileContent::Read(uint64_t offset, char* out, size_t count) const {
  return ReadImage(visible_, offset, out, count);
}

size_t FileContent::ReadDurable(uint64_t offset, char* out, size_t count) const {
  return ReadImage(durable_, offset, out, count);
}

void FileContent::Write(uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  if (offset + bytes.size() > visible_.size) SetSize(visible_, offset + bytes.size());
  for (size_t done = 0; done < bytes.size();) {
    const uint64_t index = (offset + done) / kPageBytes;
    const uint64_t start = (offset + done) % kPageBytes;
    const size_t part = std::min<uint64_t>(bytes.size() - done, kPageBytes - start);
    std::memcpy(OwnPage(visible_, index).data() + start, bytes.data() + done, part);
    dirty_.insert(index);
    done += part;
  }
}

void FileContent::Resize(uint64_t size) {
  // What is cut off must not come back from the durable image when the file grows again.
  const uint64_t end = Pages(std::max(visible_.size, durable_.size));
  for (uint64_t page = size / kPageBytes; page < end; ++page) dirty_.insert(page);
  SetSize(visible_, size);
}

void FileContent::Clear(uint64_t offset, uint64_t count) {
  if (offset >= visible_.size) return;
  const std::string zeros(std::min(count, visible_.size - offset), '\0');
  Write(offset, zeros);
}

void FileContent::Sync() {
  SetSize(durable_, visible_.size);
  for (const uint64_t page : dirty_) {
    if (page < durable_.pages.size()) durable_.pages[page] = visible_.pages[page];
  }
  dirty_.clear();
}

void FileContent::Keep(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  Page& page = OwnPage(durable_, begin / kPageBytes);
  ReadImage(visible_, begin, page.data() + begin % kPageBytes, end - begin);
}

// One of three ways for the part of a page that lies in [begin, end): lost, kept whole, or torn.
void FileContent::KeepSectors(uint64_t page, uint64_t begin, uint64_t end,
                              std::mt19937_64& random) {
  const uint64_t choice = random() % 3;
  if (choice == 0) return;
  for (uint64_t sector = page * kPageBytes; sector < (page + 1) * kPageBytes;
       sector += kSectorBytes) {
    if (choice == 2 && random() % 2 == 0) continue;
    Keep(std::max(sector, begin), std::min(sector + kSectorBytes, end));
  }
}

void FileContent::CutPower(Survival survival, std::mt19937_64& random) {
  const bool changed = !dirty_.empty() || visible_.size != durable_.size;
  if (survival == Survival::kNothing || !changed) return;
  const uint64_t synced_size = durable_.size;
  const uint64_t overwritten_end = std::min(synced_size, visible_.size);
  for (const uint64_t page : dirty_) {
    if (page * kPageBytes < overwritten_end) KeepSectors(page, 0, overwritten_end, random);
  }
  if (visible_.size < synced_size) {
    if (random() % 2 == 0) SetSize(durable_, visible_.size);
    return;
  }
  // None, all, or some of what the file grew by; or the size without the bytes, as far as the page
  // reaches in which the file ended: its block was there already, so that nothing orders them.
  const uint64_t growth = visible_.size - synced_size;
  const uint64_t choice = random() % 4;
  if (choice == 3) {
    SetSize(durable_, std::min(visible_.size, Pages(synced_size) * kPageBytes));
    return;
  }
  const uint64_t kept = choice == 0 ? 0 : choice == 1 ? growth : random() % (growth + 1);
  SetSize(durable_, synced_size + kept);
  for (const uint64_t page : dirty_) {
    const uint64_t begin = std::max(page * kPageBytes, synced_size);
    const uint64_t end = std::min((page + 1) * kPageBytes, durable_.size);
    if (survival == Survival::kTornWithHoles) {
      KeepSectors(page, begin, end, random);
    } else {
      Keep(begin, end);
    }
  }
}

}  // namespace dpledger::testing
