#include "ledger_store/postgres/values.h"

#include "absl/strings/numbers.h"
#include "merkle/big_endian.h"

namespace dpledger::postgres {
namespace {

using merkle::BigEndian;

// PostgreSQL's numbers of its types (src/include/catalog/pg_type.dat); they never change.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kByteaArray = 1001;
constexpr Oid kTextArray = 1009;
constexpr Oid kInt8Array = 1016;

// An array's binary form: dimensions, whether it has nulls, the elements' type; of the one
// dimension its size and first index; each element behind its length.
std::string Array(Oid element_type, size_t size, std::string_view elements) {
  std::string bytes =
      BigEndian(size == 0 ? 0 : 1, 4) + BigEndian(0, 4) + BigEndian(element_type, 4);
  if (size > 0) bytes.append(BigEndian(size, 4)).append(BigEndian(1, 4)).append(elements);
  return bytes;
}

}  // namespace

Values& Values::Add(Oid type, std::string bytes) {
  types_.push_back(type);
  bytes_.push_back(std::move(bytes));
  return *this;
}

Values& Values::Int8(int64_t number) {
  return Add(kInt8, BigEndian(static_cast<uint64_t>(number)));
}

Values& Values::Text(std::string_view text) { return Add(kText, std::string(text)); }

Values& Values::Bytes(std::string_view bytes) { return Add(kBytea, std::string(bytes)); }

Values& Values::Texts(const std::vector<std::string>& texts) {
  Columns column("t");
  for (const std::string& text : texts) column.Add(text);
  return Add(kTextArray, column.ToValues().bytes().front());
}

Values& Values::ListOfBytes(const std::vector<std::string>& list) {
  Columns column("b");
  for (const std::string& bytes : list) column.Add(bytes);
  return Add(kByteaArray, column.ToValues().bytes().front());
}

void Columns::Append(std::string& column, std::string_view bytes) {
  column.append(BigEndian(bytes.size(), 4)).append(bytes);
}

void Columns::AppendNumber(std::string& column, uint64_t number) {
  Append(column, BigEndian(number));
}

Values Columns::ToValues() const {
  Values values;
  for (size_t i = 0; i < types_.size(); ++i) {
    const Oid element = types_[i] == 't' ? kText : types_[i] == 'b' ? kBytea : kInt8;
    const Oid array = types_[i] == 't' ? kTextArray : types_[i] == 'b' ? kByteaArray : kInt8Array;
    values.Add(array, Array(element, rows_, bytes_[i]));
  }
  return values;
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
  return static_cast<int64_t>(merkle::FromBigEndian(View(row, column)));
}

}  // namespace dpledger::postgres
