// Ledgers at rest, in the C interface.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "base/status.h"
#include "client/c/calls.h"
#include "client/c/handles.h"
#include "client/export.h"
#include "client/internal/call.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "events/entry_json.h"
#include "events/names.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/served_ledger.h"
#include "ledger_store/bundle/verifier.h"
#include "local/local_ledgers.h"

struct dpledger_store {
  std::vector<std::string> paths;
  std::shared_ptr<dpledger::Recorder> recorder;  // instead: what its ledger is in
  std::optional<dpledger::local::Reading> kept;  // bundles: they are read once
  std::string answer;                            // the last result
};

namespace dpledger::client::c {
namespace {

constexpr size_t kMostPaths = 1000;
constexpr size_t kMostKeys = 256;
constexpr uint32_t kPage = 1000;
constexpr absl::Duration kLongestQuestion = absl::Minutes(1);  // to a recorder's server

struct AtRest : local::Reading {
  absl::Duration timeout = absl::InfiniteDuration();  // of a question
};

absl::StatusOr<std::vector<std::string>> ReadTexts(const char* field, const char* const* texts,
                                                   size_t count, size_t most) {
  if (count > most) {
    return FieldError(field, absl::StrCat("must be at most ", most, ", got ", count));
  }
  if (count > 0) RETURN_IF_ERROR(CheckGiven({{field, texts}}));
  std::vector<std::string> read;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(read.emplace_back(), ReadText(absl::StrCat(field, "[", i, "]"), texts[i]));
  }
  return read;
}

absl::StatusOr<local::Reading> Open(dpledger_store& store) {
  if (store.kept.has_value()) return *store.kept;
  ASSIGN_OR_RETURN(local::Reading opened, local::OpenToRead(store.paths));
  if (opened.in_bundles) store.kept = opened;
  return opened;
}

absl::StatusOr<std::string> With(
    dpledger_store& store, absl::FunctionRef<absl::StatusOr<std::string>(const AtRest&)> ask) {
  if (store.recorder == nullptr) {
    ASSIGN_OR_RETURN(local::Reading open, Open(store));
    return ask({std::move(open)});
  }
  std::string answer;
  RETURN_IF_ERROR(store.recorder->Ask([&](const auto& channel) -> absl::Status {
    ASSIGN_OR_RETURN(answer, ask({{.channel = channel, .ledgers = {store.recorder->ledger()}},
                                  kLongestQuestion}));
    return absl::OkStatus();
  }));
  return answer;
}

// The full name; the only ledger if `name` is empty.
absl::StatusOr<std::string> NameOf(const AtRest& open, const std::string& name) {
  if (!name.empty()) {
    const absl::StatusOr<std::string> full = events::FullLedgerName(name);
    if (full.ok()) return full;
    return FieldError("ledger", std::string(full.status().message()));
  }
  if (open.ledgers.size() == 1) return open.ledgers.front();
  return FieldError("ledger", absl::StrCat("must name one of the ", open.ledgers.size(),
                                           " ledgers here: ", absl::StrJoin(open.ledgers, ", ")));
}

template <typename Request, typename Response>
absl::StatusOr<std::string> Ask(grpc::Status (v1::AccountingService::Stub::*method)(
                                    grpc::ClientContext*, const Request&, Response*),
                                const AtRest& open, const v1::Subject& subject,
                                std::string_view question) {
  Request request;
  if (!request.ParseFromArray(question.data(), static_cast<int>(question.size()))) {
    return FieldError("question",
                      absl::StrCat("must be a serialised ", Request::descriptor()->full_name()));
  }
  *request.mutable_subject() = subject;
  const auto stub = v1::AccountingService::NewStub(open.channel);
  ASSIGN_OR_RETURN(Response response,
                   internal::Call(*stub, method, request, absl::Now() + open.timeout));
  for (const std::string& one : open.assumptions) {
    response.mutable_details()->add_assumptions(one);
  }
  return response.SerializeAsString();
}

absl::StatusOr<std::string> AskBy(const std::string& method, const AtRest& open,
                                  const v1::Subject& subject, std::string_view question) {
  using Stub = v1::AccountingService::Stub;
  if (method == "ComputeEpsilon") return Ask(&Stub::ComputeEpsilon, open, subject, question);
  if (method == "ComputeDelta") return Ask(&Stub::ComputeDelta, open, subject, question);
  if (method == "ComputeProfile") return Ask(&Stub::ComputeProfile, open, subject, question);
  if (method == "ComputeTuningCost") return Ask(&Stub::ComputeTuningCost, open, subject, question);
  if (method == "Calibrate") return Ask(&Stub::Calibrate, open, subject, question);
  return FieldError("method", absl::StrCat("must be ComputeEpsilon, ComputeDelta, ComputeProfile, "
                                           "ComputeTuningCost or Calibrate, got ",
                                           method));
}

absl::StatusOr<std::string> LedgersJson(const AtRest& open) {
  const auto stub = v1::LedgerService::NewStub(open.channel);
  std::vector<std::string> all;
  for (const std::string& name : open.ledgers) {
    v1::GetLedgerRequest request;
    request.set_name(name);
    ASSIGN_OR_RETURN(const v1::Ledger ledger,
                     internal::Call(*stub, &v1::LedgerService::Stub::GetLedger, request,
                                    absl::Now() + open.timeout));
    all.push_back(events::MessageToJson(ledger));
  }
  return absl::StrCat("[", absl::StrJoin(all, ","), "]");
}

absl::StatusOr<std::string> EntriesJson(const AtRest& open, const std::string& ledger,
                                        uint64_t first, uint64_t& next) {
  const auto stub = v1::LedgerService::NewStub(open.channel);
  v1::ReadEntriesRequest request;
  ASSIGN_OR_RETURN(*request.mutable_ledger(), NameOf(open, ledger));
  request.set_first_sequence(first);
  request.set_page_size(kPage);
  ASSIGN_OR_RETURN(const v1::ReadEntriesResponse page,
                   internal::Call(*stub, &v1::LedgerService::Stub::ReadEntries, request,
                                  absl::Now() + open.timeout));
  std::vector<std::string> lines;
  for (const std::string& entry : page.entries()) {
    ASSIGN_OR_RETURN(lines.emplace_back(), events::EntryToLine(entry));
  }
  next = page.next_sequence();
  return absl::StrCat("[", absl::StrJoin(lines, ","), "]");
}

absl::StatusOr<std::string> StatementJson(const AtRest& open, const std::string& ledger,
                                          const std::string& dataset, double delta) {
  v1::GetStatementRequest request;
  request.set_delta(delta);
  if (!ledger.empty() || open.ledgers.size() == 1) {
    ASSIGN_OR_RETURN(*request.mutable_ledger(), NameOf(open, ledger));
  } else if (!dataset.empty() || !open.dataset.empty()) {
    request.set_dataset(dataset.empty() ? open.dataset : dataset);
  } else {
    return NameOf(open, "").status();
  }
  const auto stub = v1::StatementService::NewStub(open.channel);
  ASSIGN_OR_RETURN(v1::Statement made,
                   internal::Call(*stub, &v1::StatementService::Stub::GetStatement, request,
                                  absl::Now() + open.timeout));
  for (const std::string& one : open.assumptions) {
    made.mutable_answer()->mutable_details()->add_assumptions(one);
  }
  return events::MessageToJson(made);
}

std::string FoundJson(const bundle::Verifier& verifier) {
  const bundle::EvidenceCheck& evidence = verifier.evidence();
  const auto keys = [](std::string* out, const merkle::VerifierKey& key) {
    absl::StrAppend(out, JsonString(key.ToText()));
  };
  std::vector<std::string> witnesses;
  for (const auto& one : evidence.cosigners()) witnesses.push_back(JsonString(one.key.ToText()));
  return absl::StrCat("{\"origin\":", JsonString(evidence.checkpoint().origin),
                      ",\"size\":", verifier.rules().size(), ",\"root\":",
                      JsonString(HexEncode(merkle::ToBytes(evidence.checkpoint().root))),
                      ",\"state\":", verifier.rules().sealed() ? "\"SEALED\"" : "\"OPEN\"",
                      ",\"self_signed\":", evidence.own_keys() ? "true" : "false",
                      ",\"signed_by\":[", absl::StrJoin(evidence.signers(), ",", keys),
                      "],\"witnessed_by\":[", absl::StrJoin(witnesses, ","), "]}");
}

// The bundle that holds the ledger, which is verified anew, with other keys.
absl::StatusOr<std::string> VerifyBundleOf(const std::vector<std::string>& paths,
                                           const std::string& ledger,
                                           const bundle::VerifierOptions& options) {
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(bundle::FileSource file, bundle::FileSource::Open(path));
    bundle::Verifier verifier(options);
    const absl::Status verified = bundle::VerifyBundle(file, verifier);
    const std::string& origin = verifier.evidence().checkpoint().origin;
    if (verified.ok() && !origin.ends_with(absl::StrCat("/", ledger))) continue;
    if (!verified.ok()) {
      return WithReason(absl::Status(verified.code(), absl::StrCat(path, ": ", verified.message())),
                        ReasonOf(verified));
    }
    return FoundJson(verifier);
  }
  return absl::NotFoundError(absl::StrCat(ledger, ": is in none of these bundles"));
}

absl::StatusOr<bundle::VerifierOptions> TrustIn(const std::vector<std::string>& keys) {
  bundle::VerifierOptions options;
  for (size_t i = 0; i < keys.size(); ++i) {
    absl::StatusOr<merkle::VerifierKey> key = merkle::VerifierKey::Parse(keys[i]);
    if (!key.ok()) {
      return FieldError(absl::StrCat("keys[", i, "]"), std::string(key.status().message()));
    }
    options.trusted.push_back(*std::move(key));
  }
  return options;
}

absl::StatusOr<std::string> Verify(const dpledger_store& store, const AtRest& open,
                                   const std::string& ledger,
                                   const bundle::VerifierOptions& options) {
  ASSIGN_OR_RETURN(const std::string name, NameOf(open, ledger));
  if (open.in_bundles) return VerifyBundleOf(store.paths, name, options);
  bundle::Verifier verifier(options);
  RETURN_IF_ERROR(bundle::VerifyServed(name, CallsOver(open.channel), verifier, nullptr));
  return FoundJson(verifier);
}

// Guard for a question whose answer, which the absl::StatusOr that `ask` returns holds, is lent in
// `json`.
template <typename Body>
dpledger_status GuardJson(dpledger_store* store, const char** json, dpledger_error* error,
                          const Body& ask) {
  return Guard(error, {{"store", store}, {"json", json}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(store->answer, ask());
    *json = store->answer.c_str();
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace dpledger::client::c

using namespace dpledger::client::c;  // NOLINT: the functions below are all of this file
using Answer = absl::StatusOr<std::string>;

extern "C" {

dpledger_status dpledger_store_open(const char* const* paths, size_t count, dpledger_store** store,
                                    dpledger_error* error) {
  return GuardNew(error, "store", store, {}, [&]() -> absl::StatusOr<dpledger_store> {
    dpledger_store made;
    ASSIGN_OR_RETURN(made.paths, ReadTexts("paths", paths, count, kMostPaths));
    RETURN_IF_ERROR(Open(made).status());
    return made;
  });
}

dpledger_status dpledger_recorder_store(const dpledger_recorder* recorder, dpledger_store** store,
                                        dpledger_error* error) {
  return GuardNew(error, "store", store, {{"recorder", recorder}},
                  [&]() -> absl::StatusOr<dpledger_store> {
                    return dpledger_store{.recorder = recorder->recorder};
                  });
}

void dpledger_store_free(dpledger_store* store) { delete store; }

dpledger_status dpledger_store_ask(dpledger_store* store, const char* method,
                                   const char* const* ledgers, size_t ledger_count,
                                   const char* dataset, const void* question, size_t question_size,
                                   const void** answer, size_t* answer_size,
                                   dpledger_error* error) {
  const auto ask = [&]() -> absl::Status {
    if (question_size > 0) RETURN_IF_ERROR(CheckGiven({{"question", question}}));
    ASSIGN_OR_RETURN(const std::string asked, ReadText("method", method));
    ASSIGN_OR_RETURN(const auto names, ReadTexts("ledgers", ledgers, ledger_count, kMostPaths));
    ASSIGN_OR_RETURN(const std::string over, ReadText("dataset", dataset, ""));
    const std::string_view bytes(static_cast<const char*>(question), question_size);
    ASSIGN_OR_RETURN(store->answer, With(*store, [&](const AtRest& open) -> Answer {
                       dpledger::v1::Subject subject;
                       for (const std::string& name : names) {
                         ASSIGN_OR_RETURN(*subject.add_ledgers(), NameOf(open, name));
                       }
                       subject.set_dataset(over);
                       if (names.empty() && over.empty()) {
                         subject.mutable_ledgers()->Add(open.ledgers.begin(), open.ledgers.end());
                       }
                       return AskBy(asked, open, subject, bytes);
                     }));
    *answer = store->answer.data();
    *answer_size = store->answer.size();
    return absl::OkStatus();
  };
  return Guard(error, {{"store", store}, {"answer", answer}, {"answer_size", answer_size}}, ask);
}

dpledger_status dpledger_store_ledgers(dpledger_store* store, const char** json,
                                       dpledger_error* error) {
  return GuardJson(store, json, error, [&] { return With(*store, LedgersJson); });
}

dpledger_status dpledger_store_entries(dpledger_store* store, const char* ledger, uint64_t first,
                                       const char** json, uint64_t* next, dpledger_error* error) {
  return GuardJson(store, json, error, [&]() -> Answer {
    RETURN_IF_ERROR(CheckGiven({{"next", next}}));
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    return With(*store, [&](const AtRest& open) { return EntriesJson(open, named, first, *next); });
  });
}

dpledger_status dpledger_store_statement(dpledger_store* store, const char* ledger,
                                         const char* dataset, double delta, const char** json,
                                         dpledger_error* error) {
  return GuardJson(store, json, error, [&]() -> Answer {
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const std::string over, ReadText("dataset", dataset, ""));
    return With(*store,
                [&](const AtRest& open) { return StatementJson(open, named, over, delta); });
  });
}

dpledger_status dpledger_store_verify(dpledger_store* store, const char* ledger,
                                      const char* const* keys, size_t key_count, const char** json,
                                      dpledger_error* error) {
  return GuardJson(store, json, error, [&]() -> Answer {
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const auto texts, ReadTexts("keys", keys, key_count, kMostKeys));
    ASSIGN_OR_RETURN(const auto options, TrustIn(texts));
    return With(*store, [&](const AtRest& open) { return Verify(*store, open, named, options); });
  });
}

dpledger_status dpledger_store_export(dpledger_store* store, const char* ledger, const char* file,
                                      dpledger_error* error) {
  return Guard(error, {{"store", store}}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const std::string path, ReadText("file", file));
    const auto write = [&](const AtRest& open) -> Answer {
      if (open.in_bundles) {
        return dpledger::FieldError(
            "file", absl::StrCat("needs a folder to be written from; ", store->paths.front(),
                                 " is a bundle already: copy it"));
      }
      ASSIGN_OR_RETURN(const std::string name, NameOf(open, named));
      RETURN_IF_ERROR(dpledger::client::ExportLedger(open.channel, name, path));
      return std::string();
    };
    return With(*store, write).status();
  });
}

}  // extern "C"
