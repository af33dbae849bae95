#include "tests/fault/fault_fs_tree.h"

#include <ctime>
#include <set>
#include <utility>

namespace dpledger::testing {
namespace {

// All nodes with a durable name, each once, always in the same order.
void AddDurable(const NodePtr& node, std::set<const Node*>& seen, std::vector<NodePtr>& nodes) {
  if (!seen.insert(node.get()).second) return;
  nodes.push_back(node);
  for (const auto& [name, entry] : node->durable_entries) AddDurable(entry, seen, nodes);
}

std::vector<NodePtr> DurableNodes(const NodePtr& root) {
  std::set<const Node*> seen;
  std::vector<NodePtr> nodes;
  AddDurable(root, seen, nodes);
  return nodes;
}

// Puts one binding into a directory's map; null takes it away.
void Bind(std::map<std::string, NodePtr>& entries, int Node::*links, const std::string& name,
          const NodePtr& node) {
  const auto old = entries.find(name);
  if (old != entries.end()) {
    --((*old->second).*links);
    entries.erase(old);
  }
  if (node == nullptr) return;
  ++((*node).*links);
  entries.emplace(name, node);
}

}  // namespace

FaultTree::FaultTree() : root_(std::make_shared<Node>()) {
  root_->number = next_number_++;
  root_->attributes.mode = S_IFDIR | 0755;
  root_->links = root_->durable_links = 1;
}

void FaultTree::Do(Change change) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  for (const EntryChange& entry : change) {
    Bind(entry.folder->entries, &Node::links, entry.name, entry.node);
    entry.folder->attributes.modified = now;
    if (entry.node == nullptr) continue;
    entry.node->parent = entry.folder;
    entry.node->name = entry.name;
  }
  waiting_.push_back(std::move(change));
}

void FaultTree::Apply(const Change& change) {
  for (const EntryChange& entry : change) {
    if (entry.node != nullptr && entry.node->durable_links == 0) {
      entry.node->durable_attributes = entry.node->attributes;
    }
    Bind(entry.folder->durable_entries, &Node::durable_links, entry.name, entry.node);
  }
}

NodePtr FaultTree::Make(const NodePtr& folder, const std::string& name,
                        const Attributes& attributes) {
  auto node = std::make_shared<Node>();
  node->number = next_number_++;
  node->attributes = attributes;
  Do({{folder, name, node}});
  return node;
}

void FaultTree::Link(const NodePtr& node, const NodePtr& folder, const std::string& name) {
  Do({{folder, name, node}});
}

void FaultTree::Remove(const NodePtr& folder, const std::string& name) {
  Do({{folder, name, nullptr}});
}

void FaultTree::Rename(const NodePtr& from, const std::string& old_name, const NodePtr& to,
                       const std::string& new_name) {
  const NodePtr node = from->entries.at(old_name);
  Do({{from, old_name, nullptr}, {to, new_name, node}});
}

void FaultTree::SyncNames(const NodePtr& node) {
  std::set<std::pair<const Node*, std::string>> names;
  for (NodePtr at = node; at != nullptr && at->durable_links == 0 && at->links > 0;) {
    const NodePtr parent = at->parent.lock();
    if (parent != nullptr) names.emplace(parent.get(), at->name);
    at = parent;
  }
  // From the newest back: what a change touches, earlier changes of the same names belong to it.
  std::list<Change> chosen;
  for (auto change = waiting_.end(); change != waiting_.begin();) {
    --change;
    bool needed = false;
    for (const EntryChange& entry : *change) {
      needed = needed || (node->IsFolder() && entry.folder == node) ||
               names.count({entry.folder.get(), entry.name}) > 0;
    }
    if (!needed) continue;
    for (const EntryChange& entry : *change) names.emplace(entry.folder.get(), entry.name);
    const auto taken = change++;
    chosen.splice(chosen.begin(), waiting_, taken);
  }
  for (const Change& change : chosen) Apply(change);
}

void FaultTree::Sync(const NodePtr& node, bool data_only) {
  node->content.Sync();
  if (!data_only) node->durable_attributes = node->attributes;
  SyncNames(node);
}

void FaultTree::SyncAll() {
  for (const Change& change : waiting_) Apply(change);
  waiting_.clear();
  for (const NodePtr& node : DurableNodes(root_)) {
    node->content.Sync();
    node->durable_attributes = node->attributes;
  }
}

void FaultTree::CutPower(Survival survival, uint64_t seed) {
  std::mt19937_64 random(seed);
  if (survival != Survival::kNothing) {
    const uint64_t choice = random() % 3;
    size_t kept = choice == 0   ? 0
                  : choice == 1 ? waiting_.size()
                                : random() % (waiting_.size() + 1);
    for (; kept > 0; --kept) {
      Apply(waiting_.front());
      waiting_.pop_front();
    }
  }
  waiting_.clear();
  for (const NodePtr& node : DurableNodes(root_)) node->content.CutPower(survival, random);
}

}  // namespace dpledger::testing
