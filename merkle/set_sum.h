// The sum of keyed hashes modulo 2^256: a digest of a set that one element changes in constant
// time. (Clarke, Devadas, van Dijk, Gassend, Suh 2003, MSet-Add-Hash.) Who sees neither the hashes
// nor the sums, and cannot make the hashes, cannot find another set with the same sum: the hashes
// come from an Authenticator, and neither they nor a sum are ever stored. A value.
#pragma once

#include <cstdint>

#include "merkle/sha256.h"

namespace dpledger::merkle {

class SetSum {
 public:
  void Add(const Hash& element) {
    uint32_t carry = 0;
    for (size_t i = sum_.size(); i-- > 0;) {
      carry += uint32_t{sum_[i]} + element[i];
      sum_[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
  }
  // Precondition: it was added.
  void Remove(const Hash& element) {
    int32_t borrow = 0;
    for (size_t i = sum_.size(); i-- > 0;) {
      borrow += int32_t{sum_[i]} - int32_t{element[i]};
      sum_[i] = static_cast<uint8_t>(borrow);
      borrow >>= 8;
    }
  }
  // Big-endian.
  const Hash& bytes() const { return sum_; }

 private:
  Hash sum_ = {};
};

}  // namespace dpledger::merkle
