// Parameters and rows in PostgreSQL's binary format, so that no text is quoted or parsed. Lists
// become arrays, so that one statement writes many rows (`SELECT … FROM unnest($1, $2)`). Not
// thread safe.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dpledger::postgres {

// The parameters $1, $2, … of a statement. Text must have no zero byte.
class Values {
 public:
  template <typename Integer>
  Values& Number(Integer number) {
    return Int8(static_cast<int64_t>(number));
  }
  Values& Text(std::string_view text);
  Values& Bytes(std::string_view bytes);
  Values& Texts(const std::vector<std::string>& texts);
  Values& ListOfBytes(const std::vector<std::string>& list);

  const std::vector<Oid>& types() const { return types_; }
  const std::vector<std::string>& bytes() const { return bytes_; }

 private:
  friend class Columns;
  Values& Int8(int64_t number);
  Values& Add(Oid type, std::string bytes);

  std::vector<Oid> types_;
  std::vector<std::string> bytes_;
};

// The parameters of a statement that takes many rows, as an array a column.
class Columns {
 public:
  // A letter a column: t texts, b bytes, n numbers.
  explicit Columns(std::string_view types) : types_(types), bytes_(types.size()) {}

  // A row; numbers are integers.
  template <typename... Cells>
  void Add(const Cells&... cells) {
    size_t column = 0;
    (Append(bytes_[column++], cells), ...);
    ++rows_;
  }
  size_t rows() const { return rows_; }
  bool empty() const { return rows_ == 0; }
  Values ToValues() const;

 private:
  template <typename Integer>
  static void Append(std::string& column, Integer number) requires std::is_integral_v<Integer> {
    AppendNumber(column, static_cast<uint64_t>(number));
  }
  static void Append(std::string& column, std::string_view bytes);
  static void AppendNumber(std::string& column, uint64_t number);

  const std::string types_;
  std::vector<std::string> bytes_;  // of the arrays' elements
  size_t rows_ = 0;
};

// The rows of a statement's answer. Precondition of the readers: the column has that type, and the
// value is not null.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, &PQclear) {}

  int size() const { return PQntuples(result_.get()); }
  // Rows that the statement inserted or updated.
  int64_t changed() const;
  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  int64_t Number(int row, int column) const;
  uint64_t Size(int row, int column) const { return static_cast<uint64_t>(Number(row, column)); }
  bool Bool(int row, int column) const { return View(row, column) == std::string_view("\1", 1); }
  std::string Bytes(int row, int column) const { return std::string(View(row, column)); }
  std::string_view View(int row, int column) const;
  // "COMMIT", "INSERT 0 3".
  std::string_view tag() const { return PQcmdStatus(result_.get()); }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

}  // namespace dpledger::postgres
