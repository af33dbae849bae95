#include "ledger/writer_map.h"

#include <algorithm>
#include <utility>

namespace dpledger {

struct WriterMap::Writer {
  v1::WriterStatus status;
  merkle::Hash code;  // of the status, under the map's key
};

struct WriterMap::Node {
  Link left;
  Link right;
  Shared writer;
  int height = 1;
  // Of this node and all below it.
  size_t size = 1;
  size_t open = 0;
};

WriterMap::WriterMap(std::map<std::string, v1::WriterStatus> writers, Key key)
    : key_(std::move(key)) {
  auto next = writers.begin();
  root_ = Build(next, writers.size());
}

WriterMap::Link WriterMap::Build(std::map<std::string, v1::WriterStatus>::iterator& next,
                                 size_t count) {
  if (count == 0) return nullptr;
  Link left = Build(next, count / 2);
  Shared writer = Take(std::move((next++)->second));
  if (key_ != nullptr) code_.Add(writer->code);
  return Join(std::move(left), std::move(writer), Build(next, count - count / 2 - 1));
}

WriterMap::Shared WriterMap::Take(v1::WriterStatus status) const {
  auto writer = std::make_shared<Writer>();
  writer->status = std::move(status);
  if (key_ != nullptr) {
    writer->code = key_->HashOf({"writer", writer->status.SerializeAsString()});
  }
  return writer;
}

const WriterMap::Writer* WriterMap::FindWriter(std::string_view name) const {
  const Node* node = root_.get();
  while (node != nullptr) {
    const int order = name.compare(node->writer->status.writer());
    if (order == 0) return node->writer.get();
    node = order < 0 ? node->left.get() : node->right.get();
  }
  return nullptr;
}

const v1::WriterStatus* WriterMap::Find(std::string_view name) const {
  const Writer* const writer = FindWriter(name);
  return writer == nullptr ? nullptr : &writer->status;
}

void WriterMap::Put(v1::WriterStatus status) {
  // What can fail comes first.
  const Shared writer = Take(std::move(status));
  Link root = With(root_, writer);
  if (key_ != nullptr) {
    const Writer* const before = FindWriter(writer->status.writer());
    if (before != nullptr) code_.Remove(before->code);
    code_.Add(writer->code);
  }
  root_ = std::move(root);
}

size_t WriterMap::size() const { return root_ == nullptr ? 0 : root_->size; }

size_t WriterMap::open() const { return root_ == nullptr ? 0 : root_->open; }

WriterMap::Link WriterMap::Join(Link left, Shared writer, Link right) {
  auto node = std::make_shared<Node>();
  node->open = writer->status.closed() ? 0 : 1;
  for (const Node* child : {left.get(), right.get()}) {
    if (child == nullptr) continue;
    node->height = std::max(node->height, child->height + 1);
    node->size += child->size;
    node->open += child->open;
  }
  node->left = std::move(left);
  node->right = std::move(right);
  node->writer = std::move(writer);
  return node;
}

// Precondition: both sides are balanced, and their heights differ by at most 2.
WriterMap::Link WriterMap::Balance(Link left, Shared writer, Link right) {
  const auto height = [](const Link& node) { return node == nullptr ? 0 : node->height; };
  if (height(left) > height(right) + 1) {
    if (height(left->left) >= height(left->right)) {
      return Join(left->left, left->writer, Join(left->right, std::move(writer), std::move(right)));
    }
    const Link& middle = left->right;
    return Join(Join(left->left, left->writer, middle->left), middle->writer,
                Join(middle->right, std::move(writer), std::move(right)));
  }
  if (height(right) > height(left) + 1) {
    if (height(right->right) >= height(right->left)) {
      return Join(Join(std::move(left), std::move(writer), right->left), right->writer,
                  right->right);
    }
    const Link& middle = right->left;
    return Join(Join(std::move(left), std::move(writer), middle->left), middle->writer,
                Join(middle->right, right->writer, right->right));
  }
  return Join(std::move(left), std::move(writer), std::move(right));
}

// The tree below `node` with the status; recursion is as deep as the tree is high.
WriterMap::Link WriterMap::With(const Link& node, Shared writer) {
  if (node == nullptr) return Join(nullptr, std::move(writer), nullptr);
  const int order = writer->status.writer().compare(node->writer->status.writer());
  if (order == 0) return Join(node->left, std::move(writer), node->right);
  if (order < 0) return Balance(With(node->left, std::move(writer)), node->writer, node->right);
  return Balance(node->left, node->writer, With(node->right, std::move(writer)));
}

const v1::WriterStatus& WriterMap::Iterator::operator*() const {
  return path_.back()->writer->status;
}

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
    const bool before = std::string_view(node->writer->status.writer()) < name;
    if (!before) bound.path_.push_back(node);
    node = before ? node->right.get() : node->left.get();
  }
  return bound;
}

}  // namespace dpledger
