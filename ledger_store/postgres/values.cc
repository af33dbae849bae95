#include "ledger_store/postgres/values.h"

#include "absl/strings/numbers.h"
#include "base/absl_view.h"

namespace dpledger::postgres {
namespace {

// PostgreSQL's numbers of its types (src/include/catalog/pg_type.dat); they never change.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kByteaArray = 1001;
constexpr Oid kTextArray = 1009;
constexpr Oid kInt8Array = 1016;

void AppendBigEndian(uint64_t number, int bytes, std::string& out) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

std::string BigEndian(int64_t number) {
  std::string bytes;
  AppendBigEndian(static_cast<uint64_t>(number), 8, bytes);
  return bytes;
}

// An array's binary form: dimensions, whether it has nulls, the elements' type; of the one
// dimension its size and first index; each element behind its length.
template <typename List, typename Encode>
std::string Array(Oid element_type, const List& list, const Encode& encode) {
  std::string bytes;
  AppendBigEndian(list.empty() ? 0 : 1, 4, bytes);
  AppendBigEndian(0, 4, bytes);
  AppendBigEndian(element_type, 4, bytes);
  if (list.empty()) return bytes;
  AppendBigEndian(list.size(), 4, bytes);
  AppendBigEndian(1, 4, bytes);
  for (const auto& element : list) {
    const std::string_view encoded = encode(element);
    AppendBigEndian(encoded.size(), 4, bytes);
    bytes.append(encoded);
  }
  return bytes;
}

std::string_view AsItIs(const std::string& element) { return element; }

}  // namespace

Values& Values::Add(Oid type, std::string bytes) {
  types_.push_back(type);
  bytes_.push_back(std::move(bytes));
  return *this;
}

Values& Values::Number(int64_t number) { return Add(kInt8, BigEndian(number)); }

Values& Values::Text(std::string_view text) { return Add(kText, std::string(text)); }

Values& Values::Bytes(std::string_view bytes) { return Add(kBytea, std::string(bytes)); }

Values& Values::Numbers(const std::vector<int64_t>& numbers) {
  std::string encoded;
  return Add(kInt8Array, Array(kInt8, numbers, [&encoded](int64_t number) -> std::string_view {
               return encoded = BigEndian(number);
             }));
}

Values& Values::Texts(const std::vector<std::string>& texts) {
  return Add(kTextArray, Array(kText, texts, AsItIs));
}

Values& Values::ListOfBytes(const std::vector<std::string>& list) {
  return Add(kByteaArray, Array(kBytea, list, AsItIs));
}

int64_t Rows::changed() const {
  int64_t count = 0;
  return absl::SimpleAtoi(PQcmdTuples(result_.get()), &count) ? count : 0;
}

std::string_view Rows::View(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}

int64_t Rows::Number(int row, int column) const {
  uint64_t number = 0;
  for (const char byte : View(row, column)) number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<int64_t>(number);
}

}  // namespace dpledger::postgres
