// Ledgers at rest, in the C interface.
#include <grpcpp/client_context.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/read.h"
#include "client/export.h"
#include "client/internal/local.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "dpledger/v1/statement_service.grpc.pb.h"
#include "events/entry_json.h"
#include "events/names.h"
#include "events/proto_json.h"
#include "ledger_store/bundle/file.h"
#include "ledger_store/bundle/verifier.h"

struct dpledger_store {
  std::vector<std::string> paths;
  std::shared_ptr<dpledger::Recorder> recorder;            // instead: what its ledger is in
  std::optional<dpledger::client::internal::AtRest> kept;  // bundles: they are read once
  std::string answer;                                      // the last result
};

namespace dpledger::client::c {
namespace {

using internal::AtRest;

constexpr size_t kMostPaths = 1000;
constexpr size_t kMostKeys = 256;
constexpr uint32_t kPage = 1000;
constexpr absl::Duration kLongestQuestion = absl::Minutes(1);  // to a recorder's server

template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(const AtRest& open, Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + open.timeout));
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return connection::FromGrpc(status);
  return response;
}

absl::StatusOr<std::vector<std::string>> ReadTexts(const char* field, const char* const* texts,
                                                   size_t count, size_t most) {
  if (count > most) {
    return FieldError(field, absl::StrCat("must be at most ", most, ", got ", count));
  }
  if (count > 0) RETURN_IF_ERROR(CheckGiven(texts, field));
  std::vector<std::string> read;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(read.emplace_back(), ReadText(absl::StrCat(field, "[", i, "]"), texts[i]));
  }
  return read;
}

absl::StatusOr<AtRest> Open(dpledger_store& store) {
  if (store.kept.has_value()) return *store.kept;
  ASSIGN_OR_RETURN(AtRest opened, internal::OpenAtRest(store.paths));
  if (opened.in_bundles) store.kept = opened;
  return opened;
}

absl::Status With(dpledger_store& store, absl::FunctionRef<absl::Status(const AtRest&)> ask) {
  if (store.recorder == nullptr) {
    ASSIGN_OR_RETURN(const AtRest open, Open(store));
    return ask(open);
  }
  return store.recorder->Ask([&](const std::shared_ptr<grpc::Channel>& channel) {
    return ask(
        {.channel = channel, .ledgers = {store.recorder->ledger()}, .timeout = kLongestQuestion});
  });
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
absl::Status Ask(grpc::Status (v1::AccountingService::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                 const AtRest& open, const v1::Subject& subject, std::string_view question,
                 std::string& answer) {
  Request request;
  if (!request.ParseFromArray(question.data(), static_cast<int>(question.size()))) {
    return FieldError("question",
                      absl::StrCat("must be a serialised ", Request::descriptor()->full_name()));
  }
  *request.mutable_subject() = subject;
  const auto stub = v1::AccountingService::NewStub(open.channel);
  ASSIGN_OR_RETURN(Response response, Call(open, *stub, method, request));
  for (const std::string& one : open.assumptions) {
    response.mutable_details()->add_assumptions(one);
  }
  answer = response.SerializeAsString();
  return absl::OkStatus();
}

absl::Status AskBy(const std::string& method, const AtRest& open, const v1::Subject& subject,
                   std::string_view question, std::string& answer) {
  using Stub = v1::AccountingService::Stub;
  if (method == "ComputeEpsilon")
    return Ask(&Stub::ComputeEpsilon, open, subject, question, answer);
  if (method == "ComputeDelta") return Ask(&Stub::ComputeDelta, open, subject, question, answer);
  if (method == "ComputeProfile")
    return Ask(&Stub::ComputeProfile, open, subject, question, answer);
  if (method == "ComputeTuningCost")
    return Ask(&Stub::ComputeTuningCost, open, subject, question, answer);
  if (method == "Calibrate") return Ask(&Stub::Calibrate, open, subject, question, answer);
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
                     Call(open, *stub, &v1::LedgerService::Stub::GetLedger, request));
    all.push_back(events::MessageToJson(ledger));
  }
  return absl::StrCat("[", absl::StrJoin(all, ","), "]");
}

absl::StatusOr<std::string> EntriesJson(const AtRest& open, const std::string& ledger,
                                        uint64_t first, uint64_t& next) {
  const auto stub = v1::LedgerService::NewStub(open.channel);
  v1::ReadEntriesRequest request;
  request.set_ledger(ledger);
  request.set_first_sequence(first);
  request.set_page_size(kPage);
  ASSIGN_OR_RETURN(const v1::ReadEntriesResponse page,
                   Call(open, *stub, &v1::LedgerService::Stub::ReadEntries, request));
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
                   Call(open, *stub, &v1::StatementService::Stub::GetStatement, request));
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
absl::Status VerifyBundleOf(const std::vector<std::string>& paths, const std::string& ledger,
                            const bundle::VerifierOptions& options, std::string& found) {
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
    found = FoundJson(verifier);
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(ledger, ": is in none of these bundles"));
}

}  // namespace
}  // namespace dpledger::client::c

using namespace dpledger::client::c;  // NOLINT: the functions below are all of this file
namespace bundle = dpledger::bundle;

extern "C" {

dpledger_status dpledger_store_open(const char* const* paths, size_t count, dpledger_store** store,
                                    dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    *store = nullptr;
    auto made = std::make_unique<dpledger_store>();
    ASSIGN_OR_RETURN(made->paths, ReadTexts("paths", paths, count, kMostPaths));
    RETURN_IF_ERROR(Open(*made).status());
    *store = made.release();
    return absl::OkStatus();
  });
}

dpledger_status dpledger_recorder_store(const dpledger_recorder* recorder, dpledger_store** store,
                                        dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    *store = nullptr;
    RETURN_IF_ERROR(CheckGiven(recorder, "recorder"));
    *store = new dpledger_store{.recorder = recorder->recorder};
    return absl::OkStatus();
  });
}

void dpledger_store_free(dpledger_store* store) { delete store; }

dpledger_status dpledger_store_ask(dpledger_store* store, const char* method,
                                   const char* const* ledgers, size_t ledger_count,
                                   const char* dataset, const void* question, size_t question_size,
                                   const void** answer, size_t* answer_size,
                                   dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    RETURN_IF_ERROR(CheckGiven(answer, "answer"));
    RETURN_IF_ERROR(CheckGiven(answer_size, "answer_size"));
    if (question_size > 0) RETURN_IF_ERROR(CheckGiven(question, "question"));
    ASSIGN_OR_RETURN(const std::string asked, ReadText("method", method));
    ASSIGN_OR_RETURN(const auto names, ReadTexts("ledgers", ledgers, ledger_count, kMostPaths));
    ASSIGN_OR_RETURN(const std::string over, ReadText("dataset", dataset, ""));
    const std::string_view bytes(static_cast<const char*>(question), question_size);
    return With(*store, [&](const AtRest& open) -> absl::Status {
      dpledger::v1::Subject subject;
      for (const std::string& name : names) {
        ASSIGN_OR_RETURN(*subject.add_ledgers(), NameOf(open, name));
      }
      subject.set_dataset(over);
      if (names.empty() && over.empty()) {
        subject.mutable_ledgers()->Add(open.ledgers.begin(), open.ledgers.end());
      }
      RETURN_IF_ERROR(AskBy(asked, open, subject, bytes, store->answer));
      *answer = store->answer.data();
      *answer_size = store->answer.size();
      return absl::OkStatus();
    });
  });
}

dpledger_status dpledger_store_ledgers(dpledger_store* store, const char** json,
                                       dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    RETURN_IF_ERROR(CheckGiven(json, "json"));
    return With(*store, [&](const AtRest& open) -> absl::Status {
      ASSIGN_OR_RETURN(store->answer, LedgersJson(open));
      *json = store->answer.c_str();
      return absl::OkStatus();
    });
  });
}

dpledger_status dpledger_store_entries(dpledger_store* store, const char* ledger, uint64_t first,
                                       const char** json, uint64_t* next, dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    RETURN_IF_ERROR(CheckGiven(json, "json"));
    RETURN_IF_ERROR(CheckGiven(next, "next"));
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    return With(*store, [&](const AtRest& open) -> absl::Status {
      ASSIGN_OR_RETURN(const std::string name, NameOf(open, named));
      ASSIGN_OR_RETURN(store->answer, EntriesJson(open, name, first, *next));
      *json = store->answer.c_str();
      return absl::OkStatus();
    });
  });
}

dpledger_status dpledger_store_statement(dpledger_store* store, const char* ledger,
                                         const char* dataset, double delta, const char** json,
                                         dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    RETURN_IF_ERROR(CheckGiven(json, "json"));
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const std::string over, ReadText("dataset", dataset, ""));
    return With(*store, [&](const AtRest& open) -> absl::Status {
      ASSIGN_OR_RETURN(store->answer, StatementJson(open, named, over, delta));
      *json = store->answer.c_str();
      return absl::OkStatus();
    });
  });
}

dpledger_status dpledger_store_verify(dpledger_store* store, const char* ledger,
                                      const char* const* keys, size_t key_count, const char** json,
                                      dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    RETURN_IF_ERROR(CheckGiven(json, "json"));
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const auto texts, ReadTexts("keys", keys, key_count, kMostKeys));
    bundle::VerifierOptions options;
    for (size_t i = 0; i < texts.size(); ++i) {
      absl::StatusOr<dpledger::merkle::VerifierKey> key =
          dpledger::merkle::VerifierKey::Parse(texts[i]);
      if (!key.ok()) {
        return dpledger::FieldError(absl::StrCat("keys[", i, "]"),
                                    std::string(key.status().message()));
      }
      options.trusted.push_back(*std::move(key));
    }
    return With(*store, [&](const AtRest& open) -> absl::Status {
      ASSIGN_OR_RETURN(const std::string name, NameOf(open, named));
      if (open.in_bundles) {
        RETURN_IF_ERROR(VerifyBundleOf(store->paths, name, options, store->answer));
      } else {
        bundle::Verifier verifier(options);
        const auto served = dpledger::client::LedgersOver(open.channel);
        RETURN_IF_ERROR(bundle::VerifyServed(name, *served, verifier, nullptr));
        store->answer = FoundJson(verifier);
      }
      *json = store->answer.c_str();
      return absl::OkStatus();
    });
  });
}

dpledger_status dpledger_store_export(dpledger_store* store, const char* ledger, const char* file,
                                      dpledger_error* error) {
  return Guard(error, [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckGiven(store, "store"));
    ASSIGN_OR_RETURN(const std::string named, ReadText("ledger", ledger, ""));
    ASSIGN_OR_RETURN(const std::string path, ReadText("file", file));
    return With(*store, [&](const AtRest& open) -> absl::Status {
      if (open.in_bundles) {
        return dpledger::FieldError(
            "file", absl::StrCat("needs a folder to be written from; ", store->paths.front(),
                                 " is a bundle already: copy it"));
      }
      ASSIGN_OR_RETURN(const std::string name, NameOf(open, named));
      return dpledger::client::ExportLedger(open.channel, name, path);
    });
  });
}

}  // extern "C"
