// The writers of a ledger by name, as a value that is cheap to copy: copies share what they have in
// common, so that the head after an append costs the same whether a ledger has ten writers or a
// million.
//
//  1. A balanced search tree (AVL) of nodes that never change. Copy: constant. Find, Put: O(log n),
//     in the worst case too, for writers choose their names.
//  2. Iteration is by name.
// Thread safe as a string is: copies may be used in different threads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dpledger/v1/ledger.pb.h"

namespace dpledger {

class WriterMap {
  struct Node;
  using Link = std::shared_ptr<const Node>;

 public:
  WriterMap() = default;
  explicit WriterMap(std::map<std::string, v1::WriterStatus> writers);

  // Null if there is none. Valid while a copy of this map with the same status lives.
  const v1::WriterStatus* Find(std::string_view name) const;
  // Puts the status under its writer's name, in place of an older one.
  void Put(v1::WriterStatus status);

  size_t size() const;
  // How many writers have not closed.
  size_t open() const;

  // A place in the map; becomes invalid when the map changes or goes.
  class Iterator {
   public:
    const v1::WriterStatus& operator*() const;
    const v1::WriterStatus* operator->() const { return &**this; }
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
  static Link Join(Link left, std::shared_ptr<const v1::WriterStatus> status, Link right);
  static Link Balance(Link left, std::shared_ptr<const v1::WriterStatus> status, Link right);
  static Link With(const Link& node, std::shared_ptr<const v1::WriterStatus> status);
  static Link Build(std::map<std::string, v1::WriterStatus>::iterator& next, size_t count);

  Link root_;
};

}  // namespace dpledger
