#include "ledger/writer_map.h"

#include <algorithm>
#include <utility>

namespace dpledger {

struct WriterMap::Node {
  Link left;
  Link right;
  std::shared_ptr<const v1::WriterStatus> status;
  int height = 1;
  // Of this node and all below it.
  size_t size = 1;
  size_t open = 0;
};

WriterMap::WriterMap(std::map<std::string, v1::WriterStatus> writers) {
  auto next = writers.begin();
  root_ = Build(next, writers.size());
}

WriterMap::Link WriterMap::Build(std::map<std::string, v1::WriterStatus>::iterator& next,
                                 size_t count) {
  if (count == 0) return nullptr;
  Link left = Build(next, count / 2);
  auto status = std::make_shared<const v1::WriterStatus>(std::move((next++)->second));
  return Join(std::move(left), std::move(status), Build(next, count - count / 2 - 1));
}

const v1::WriterStatus* WriterMap::Find(std::string_view name) const {
  const Node* node = root_.get();
  while (node != nullptr) {
    const int order = name.compare(node->status->writer());
    if (order == 0) return node->status.get();
    node = order < 0 ? node->left.get() : node->right.get();
  }
  return nullptr;
}

void WriterMap::Put(v1::WriterStatus status) {
  root_ = With(root_, std::make_shared<const v1::WriterStatus>(std::move(status)));
}

size_t WriterMap::size() const { return root_ == nullptr ? 0 : root_->size; }

size_t WriterMap::open() const { return root_ == nullptr ? 0 : root_->open; }

WriterMap::Link WriterMap::Join(Link left, std::shared_ptr<const v1::WriterStatus> status,
                                Link right) {
  auto node = std::make_shared<Node>();
  node->open = status->closed() ? 0 : 1;
  for (const Node* child : {left.get(), right.get()}) {
    if (child == nullptr) continue;
    node->height = std::max(node->height, child->height + 1);
    node->size += child->size;
    node->open += child->open;
  }
  node->left = std::move(left);
  node->right = std::move(right);
  node->status = std::move(status);
  return node;
}

// Precondition: both sides are balanced, and their heights differ by at most 2.
WriterMap::Link WriterMap::Balance(Link left, std::shared_ptr<const v1::WriterStatus> status,
                                   Link right) {
  const auto height = [](const Link& node) { return node == nullptr ? 0 : node->height; };
  if (height(left) > height(right) + 1) {
    if (height(left->left) >= height(left->right)) {
      return Join(left->left, left->status, Join(left->right, std::move(status), std::move(right)));
    }
    const Link& middle = left->right;
    return Join(Join(left->left, left->status, middle->left), middle->status,
                Join(middle->right, std::move(status), std::move(right)));
  }
  if (height(right) > height(left) + 1) {
    if (height(right->right) >= height(right->left)) {
      return Join(Join(std::move(left), std::move(status), right->left), right->status,
                  right->right);
    }
    const Link& middle = right->left;
    return Join(Join(std::move(left), std::move(status), middle->left), middle->status,
                Join(middle->right, right->status, right->right));
  }
  return Join(std::move(left), std::move(status), std::move(right));
}

// The tree below `node` with the status; recursion is as deep as the tree is high.
WriterMap::Link WriterMap::With(const Link& node, std::shared_ptr<const v1::WriterStatus> status) {
  if (node == nullptr) return Join(nullptr, std::move(status), nullptr);
  const int order = status->writer().compare(node->status->writer());
  if (order == 0) return Join(node->left, std::move(status), node->right);
  if (order < 0) return Balance(With(node->left, std::move(status)), node->status, node->right);
  return Balance(node->left, node->status, With(node->right, std::move(status)));
}

const v1::WriterStatus& WriterMap::Iterator::operator*() const { return *path_.back()->status; }

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
    const bool before = std::string_view(node->status->writer()) < name;
    if (!before) bound.path_.push_back(node);
    node = before ? node->right.get() : node->left.get();
  }
  return bound;
}

}  // namespace dpledger
