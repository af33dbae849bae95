#include "ledger_store/postgres/texts.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "merkle/sha256.h"

namespace dpledger::postgres {
namespace {

constexpr char kColumns[] = "version, body, earlier, code, name";
constexpr size_t kIdBytes = 8, kEarlier = 256;

struct StoredText {
  std::string name;
  uint64_t version = 0;  // 0: there is none
  std::string body, earlier;

  // Names it among those that follow, whatever the key.
  std::string Id() const {
    const merkle::Hash hash = merkle::Sha256({absl::StrCat(version), " ", earlier, " ", body});
    return merkle::ToBytes(hash).substr(0, kIdBytes);
  }
  bool Follows(uint64_t earlier_version, const std::string& id) const {
    if (version == earlier_version) return Id() == id;
    const size_t place = (version - earlier_version - 1) * kIdBytes;
    return place >= earlier.size() || earlier.substr(place, kIdBytes) == id;
  }
  // Puts the next one in its place.
  void Replace(std::string with) {
    if (version > 0) earlier = (Id() + earlier).substr(0, kEarlier * kIdBytes);
    body = std::move(with);
    ++version;
  }
  std::string Code(const merkle::Authenticator* key) const {
    return key == nullptr ? "" : key->Of({"text", name, absl::StrCat(version), earlier, body});
  }
};

absl::Status Damaged(const std::string& name, const std::string& what) {
  return absl::DataLossError(absl::StrCat("the database's ", name, ": ", what));
}

absl::StatusOr<StoredText> TextOf(const Database& database, const Rows& rows, int row) {
  StoredText text{rows.Bytes(row, 4), rows.Size(row, 0), rows.Bytes(row, 1), rows.Bytes(row, 2)};
  const HeadKeys keys = database.keys();
  if (keys.current == nullptr) return text;
  for (const auto& key : {keys.current, keys.previous}) {
    if (key != nullptr &&
        key->Holds(rows.View(row, 3),
                   {"text", text.name, absl::StrCat(text.version), text.earlier, text.body}))
      return text;
  }
  return Damaged(text.name, "no server with this signing key wrote them");
}

Statement Write(const Database& database, const StoredText& text) {
  return {database.Sql("UPDATE @.texts SET version = $2, body = $3, earlier = $4, code = $5"
                       " WHERE name = $1"),
          Values()
              .Text(text.name)
              .Number(text.version)
              .Bytes(text.body)
              .Bytes(text.earlier)
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
    // A row without a text is there to be locked: two that make the first text are not at it at the
    // same time. It is gone if the transaction fails.
    const Statement lockable = {
        database_.Sql("INSERT INTO @.texts VALUES ($1, 0, '', '', '') ON CONFLICT DO NOTHING"),
        Values().Text(name_)};
    return database_.Transact(
        [&](Connection& connection) -> absl::StatusOr<std::vector<Statement>> {
          ASSIGN_OR_RETURN(const std::vector<Rows> found,
                           connection.Run({lockable, Select(" FOR UPDATE")}));
          StoredText text{.name = name_};
          Edited now = absl::NotFoundError(absl::StrCat(name(), ": there are none"));
          if (found[1].Size(0, 0) > 0) {
            ASSIGN_OR_RETURN(text, Newer(TextOf(database_, found[1], 0)));
            now = text.body;
          }
          ASSIGN_OR_RETURN(std::string edited, edit(now));
          text.Replace(std::move(edited));
          return std::vector<Statement>{Write(database_, text)};
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
    if (seen_ > 0 && !text->Follows(seen_, seen_id_)) {
      return Damaged(name_, absl::StrCat("version ", text->version, " does not follow version ",
                                         seen_, ", which was there"));
    }
    seen_ = text->version;
    seen_id_ = text->Id();
    return text;
  }

  Database& database_;
  const std::string name_;
  uint64_t seen_ = 0;  // the latest version
  std::string seen_id_;
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
