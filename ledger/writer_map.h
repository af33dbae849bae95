// The writers of a ledger by name, as a value that is cheap to copy: copies share what they have in
// common, so that the head after an append costs the same whether a ledger has ten writers or a
// million.
//
//  1. A balanced search tree (AVL) of nodes that never change. Copy: constant. Find, Put: O(log n),
//     in the worst case too, for writers choose their names.
//     A node has its status as bytes: 96 bytes of memory, where a message takes three times that.
//  2. Iteration is by name.
//  3. Under a key the map has a code of all its writers, which one more writer changes in constant
//     time: two maps have the same one only if they have the same statuses.
// Thread safe as a string is: copies may be used in different threads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dpledger/v1/ledger.pb.h"
#include "merkle/authenticator.h"
#include "merkle/set_sum.h"

namespace dpledger {

class WriterMap {
  struct Node;
  using Link = std::shared_ptr<const Node>;

 public:
  using Key = std::shared_ptr<const merkle::Authenticator>;

  // Without a key (null) the map has no code.
  WriterMap() = default;
  explicit WriterMap(Key key) : key_(std::move(key)) {}
  explicit WriterMap(const std::map<std::string, v1::WriterStatus>& writers, Key key = nullptr);

  std::optional<v1::WriterStatus> Find(std::string_view name) const;
  // Puts the status under its writer's name, in place of an older one.
  void Put(const v1::WriterStatus& status);

  size_t size() const;
  // How many writers have not closed.
  size_t open() const;
  const Key& key() const { return key_; }
  // A secret of the key's owner: it goes into another code, and nowhere else.
  const merkle::SetSum& code() const { return code_; }

  // A place in the map; becomes invalid when the map changes or goes.
  class Iterator {
   public:
    v1::WriterStatus operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator& other) const;

   private:
    friend class WriterMap;
    void Descend(const Node* node);

    std::vector<const Node*> path_;  // the place, above it what is still to come
  };
  Iterator begin() const;
  Iterator end() const { return {}; }
  // The first writer whose name is not before `name`.
  Iterator LowerBound(std::string_view name) const;

 private:
  struct Writer;
  static Link Join(Link left, const Writer& writer, Link right);
  static Link Balance(Link left, const Writer& writer, Link right);
  static Link With(const Link& node, const Writer& writer);
  // Of the next `count` writers; adds them to the code.
  Link Build(std::map<std::string, v1::WriterStatus>::const_iterator& next, size_t count);
  merkle::Hash CodeOf(std::string_view status) const;
  const Node* FindNode(std::string_view name) const;

  Key key_;
  merkle::SetSum code_;
  Link root_;
};

}  // namespace dpledger
