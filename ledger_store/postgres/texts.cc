#include "ledger_store/postgres/texts.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::postgres {
namespace {

// Columns: version, body, code, name.
constexpr char kColumns[] = "version, body, code, name";

struct StoredText {
  std::string name;
  uint64_t version = 0;  // 0: there is none
  std::string body;

  std::string Code(const merkle::Authenticator* key) const {
    return key == nullptr ? "" : key->Of({"text", name, absl::StrCat(version), body});
  }
};

absl::Status Damaged(const std::string& name, const std::string& what) {
  return absl::DataLossError(absl::StrCat("the database's ", name, ": ", what));
}

absl::StatusOr<StoredText> TextOf(const Database& database, const Rows& rows, int row) {
  StoredText text{rows.Bytes(row, 3), rows.Size(row, 0), rows.Bytes(row, 1)};
  const HeadKeys keys = database.keys();
  if (keys.current == nullptr) return text;
  for (const auto& key : {keys.current, keys.previous}) {
    if (key != nullptr &&
        key->Holds(rows.View(row, 2), {"text", text.name, absl::StrCat(text.version), text.body}))
      return text;
  }
  return Damaged(text.name, "no server with this signing key wrote them");
}

Statement Write(const Database& database, const StoredText& text) {
  return {database.Sql("UPDATE @.texts SET version = $2, body = $3, code = $4 WHERE name = $1"),
          Values()
              .Text(text.name)
              .Number(text.version)
              .Bytes(text.body)
              .Bytes(text.Code(database.keys().current.get()))};
}

class PostgresText : public SharedText {
 public:
  PostgresText(Database& database, std::string name)
      : database_(database), name_(std::move(name)) {}

  std::string name() const override { return absl::StrCat("the database's ", name_); }
  bool is_near() const override { return false; }

  std::optional<absl::StatusOr<std::string>> Changed() override {
    absl::StatusOr<StoredText> text = Read();
    if (text.ok() ? text->version == given_ && said_.ok() : text.status() == said_)
      return std::nullopt;
    said_ = text.status();
    if (!text.ok()) return said_;
    given_ = text->version;
    return std::move(text->body);
  }

  absl::Status Edit(absl::FunctionRef<Edited(const Edited& now)> edit) override {
    return database_.Transact(
        [&](Connection& connection) -> absl::StatusOr<std::vector<Statement>> {
          ASSIGN_OR_RETURN(const std::vector<Rows> found, connection.Run({Select(" FOR UPDATE")}));
          Edited now = absl::NotFoundError(absl::StrCat(name(), ": there are none"));
          StoredText text{.name = name_};
          if (found[0].size() > 0) {
            ASSIGN_OR_RETURN(text, Newer(TextOf(database_, found[0], 0)));
            now = text.body;
          }
          ASSIGN_OR_RETURN(text.body, edit(now));
          std::vector<Statement> writes;
          if (++text.version == 1) {
            // Fails if another server was faster.
            writes.push_back({database_.Sql("INSERT INTO @.texts VALUES ($1, 0, '', '')"),
                              Values().Text(name_)});
          }
          writes.push_back(Write(database_, text));
          return writes;
        });
  }

 private:
  Statement Select(const char* lock = "") const {
    return {database_.Sql(absl::StrCat("SELECT ", kColumns, " FROM @.texts WHERE name = $1", lock)),
            Values().Text(name_)};
  }
  absl::StatusOr<StoredText> Read() {
    ASSIGN_OR_RETURN(const std::vector<Rows> found, database_.Read({Select()}));
    if (found[0].size() == 0) return absl::NotFoundError(absl::StrCat(name(), ": there are none"));
    return Newer(TextOf(database_, found[0], 0));
  }
  absl::StatusOr<StoredText> Newer(absl::StatusOr<StoredText> text) {
    if (!text.ok()) return text;
    if (text->version < seen_)
      return Damaged(name_, absl::StrCat("went back from version ", seen_, " to ", text->version));
    seen_ = text->version;
    return text;
  }

  Database& database_;
  const std::string name_;
  uint64_t seen_ = 0;   // the latest version
  uint64_t given_ = 0;  // the version that Changed gave last
  absl::Status said_;   // its last error; OK if it gave a text
};

}  // namespace

std::unique_ptr<SharedText> TextIn(Database& database, const std::string& name) {
  return std::make_unique<PostgresText>(database, name);
}

absl::StatusOr<std::vector<Statement>> RenewTexts(Database& database, Connection& connection) {
  ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.Run({{database.Sql(absl::StrCat("SELECT ", kColumns,
                                                 " FROM @.texts ORDER BY name FOR UPDATE")),
                       {}}}));
  std::vector<Statement> writes;
  for (int row = 0; row < rows[0].size(); ++row) {
    ASSIGN_OR_RETURN(const StoredText text, TextOf(database, rows[0], row));
    writes.push_back(Write(database, text));
  }
  return writes;
}

}  // namespace dpledger::postgres
