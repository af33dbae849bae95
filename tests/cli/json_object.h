// A printed JSON object, taken apart for tests.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <string>
#include <vector>

namespace dpledger::testing {

class JsonObject {
 public:
  // Fails the test unless `text` is exactly one JSON object on one line.
  explicit JsonObject(const std::string& text);

  bool Has(const std::string& key) const;
  std::vector<std::string> Keys() const;  // sorted
  // Each fails the test, and returns an empty value, unless the member is there and of that type. A
  // dot goes into an object or a list: "epsilon.upper", "ledgers.0.name".
  double Number(const std::string& path) const;
  bool Flag(const std::string& path) const;
  std::string Text(const std::string& path) const;
  std::vector<std::string> Texts(const std::string& path) const;
  std::vector<google::protobuf::Value> Array(const std::string& path) const;

 private:
  const google::protobuf::Value& At(const std::string& path) const;

  google::protobuf::Struct object_;
};

}  // namespace dpledger::testing
