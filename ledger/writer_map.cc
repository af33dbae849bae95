#include "ledger/writer_map.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "google/protobuf/io/coded_stream.h"

namespace dpledger {
namespace {

// The first field of a status; an empty one is left out.
std::string_view NameIn(std::string_view status) {
  constexpr uint32_t kLengthDelimited = 2;  // as the encoding calls it
  constexpr uint32_t kTag = v1::WriterStatus::kWriterFieldNumber << 3 | kLengthDelimited;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(status.data()),
                                            static_cast<int>(status.size()));
  uint32_t length = 0;
  if (in.ReadTag() != kTag || !in.ReadVarint32(&length)) return {};
  return status.substr(static_cast<size_t>(in.CurrentPosition()), length);
}

v1::WriterStatus Parsed(const std::string& status) {
  v1::WriterStatus message;
  message.ParseFromString(status);
  return message;
}

}  // namespace

// As a node holds it; views what it was made of.
struct WriterMap::Writer {
  std::string_view status;  // serialised
  bool is_open;
};

struct WriterMap::Node {
  Link left;
  Link right;
  std::string status;
  bool is_open = false;
  uint8_t height = 1;
  // Of this node and all below it.
  uint32_t size = 1;
  uint32_t open = 0;

  Writer writer() const { return {status, is_open}; }
};

WriterMap::WriterMap(const std::map<std::string, v1::WriterStatus>& writers, Key key)
    : key_(std::move(key)) {
  auto next = writers.begin();
  root_ = Build(next, writers.size());
}

WriterMap::Link WriterMap::Build(std::map<std::string, v1::WriterStatus>::const_iterator& next,
                                 size_t count) {
  if (count == 0) return nullptr;
  Link left = Build(next, count / 2);
  const v1::WriterStatus& writer = (next++)->second;
  const std::string status = writer.SerializeAsString();
  if (key_ != nullptr) code_.Add(CodeOf(status));
  return Join(std::move(left), {status, !writer.closed()}, Build(next, count - count / 2 - 1));
}

merkle::Hash WriterMap::CodeOf(std::string_view status) const {
  return key_->HashOf({"writer", status});
}

const WriterMap::Node* WriterMap::FindNode(std::string_view name) const {
  const Node* node = root_.get();
  while (node != nullptr) {
    const int order = name.compare(NameIn(node->status));
    if (order == 0) return node;
    node = order < 0 ? node->left.get() : node->right.get();
  }
  return nullptr;
}

std::optional<v1::WriterStatus> WriterMap::Find(std::string_view name) const {
  const Node* const node = FindNode(name);
  if (node == nullptr) return std::nullopt;
  return Parsed(node->status);
}

void WriterMap::Put(const v1::WriterStatus& status) {
  // What can fail comes first.
  const std::string bytes = status.SerializeAsString();
  Link root = With(root_, {bytes, !status.closed()});
  if (key_ != nullptr) {
    const Node* const before = FindNode(status.writer());
    if (before != nullptr) code_.Remove(CodeOf(before->status));
    code_.Add(CodeOf(bytes));
  }
  root_ = std::move(root);
}

size_t WriterMap::size() const { return root_ == nullptr ? 0 : root_->size; }

size_t WriterMap::open() const { return root_ == nullptr ? 0 : root_->open; }

WriterMap::Link WriterMap::Join(Link left, const Writer& writer, Link right) {
  auto node = std::make_shared<Node>();
  node->status = writer.status;
  node->is_open = writer.is_open;
  node->open = writer.is_open ? 1 : 0;
  for (const Node* child : {left.get(), right.get()}) {
    if (child == nullptr) continue;
    node->height = std::max<uint8_t>(node->height, child->height + 1);
    node->size += child->size;
    node->open += child->open;
  }
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

// Precondition: both sides are balanced, and their heights differ by at most 2.
WriterMap::Link WriterMap::Balance(Link left, const Writer& writer, Link right) {
  const auto height = [](const Link& node) { return node == nullptr ? 0 : node->height; };
  if (height(left) > height(right) + 1) {
    if (height(left->left) >= height(left->right)) {
      return Join(left->left, left->writer(), Join(left->right, writer, std::move(right)));
    }
    const Link& middle = left->right;
    return Join(Join(left->left, left->writer(), middle->left), middle->writer(),
                Join(middle->right, writer, std::move(right)));
  }
  if (height(right) > height(left) + 1) {
    if (height(right->right) >= height(right->left)) {
      return Join(Join(std::move(left), writer, right->left), right->writer(), right->right);
    }
    const Link& middle = right->left;
    return Join(Join(std::move(left), writer, middle->left), middle->writer(),
                Join(middle->right, right->writer(), right->right));
  }
  return Join(std::move(left), writer, std::move(right));
}

// The tree below `node` with the status; recursion is as deep as the tree is high.
WriterMap::Link WriterMap::With(const Link& node, const Writer& writer) {
  if (node == nullptr) return Join(nullptr, writer, nullptr);
  const int order = NameIn(writer.status).compare(NameIn(node->status));
  if (order == 0) return Join(node->left, writer, node->right);
  if (order < 0) return Balance(With(node->left, writer), node->writer(), node->right);
  return Balance(node->left, node->writer(), With(node->right, writer));
}

v1::WriterStatus WriterMap::Iterator::operator*() const { return Parsed(path_.back()->status); }

WriterMap::Iterator& WriterMap::Iterator::operator++() {
  const Node* const passed = path_.back();
  path_.pop_back();
  Descend(passed->right.get());
  return *this;
}

bool WriterMap::Iterator::operator==(const Iterator& other) const {
  const Node* const here = path_.empty() ? nullptr : path_.back();
  return here == (other.path_.empty() ? nullptr : other.path_.back());
}

void WriterMap::Iterator::Descend(const Node* node) {
  for (; node != nullptr; node = node->left.get()) path_.push_back(node);
}

WriterMap::Iterator WriterMap::begin() const {
  Iterator first;
  first.Descend(root_.get());
  return first;
}

WriterMap::Iterator WriterMap::LowerBound(std::string_view name) const {
  Iterator bound;
  const Node* node = root_.get();
  while (node != nullptr) {
    const bool before = NameIn(node->status) < name;
    if (!before) bound.path_.push_back(node);
    node = before ? node->right.get() : node->left.get();
  }
  return bound;
}

}  // namespace dpledger
