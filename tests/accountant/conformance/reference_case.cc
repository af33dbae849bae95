#include "tests/accountant/conformance/reference_case.h"

#include <cmath>
#include <set>

#include "absl/strings/str_join.h"
#include "accountant/mechanism/history.h"
#include "base/status.h"
#include "events/event_json.h"
#include "events/event_values.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant::conformance {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using testing::ListAt;
using testing::NumberAt;
using testing::StringAt;

bool Has(const Struct& object, const std::string& key) {
  const auto field = object.fields().find(key);
  return field != object.fields().end() && !field->second.has_null_value();
}

// A number, or "inf".
double RealAt(const Struct& object, const std::string& key) {
  const Value& value = object.fields().at(key);
  return value.has_number_value() ? value.number_value() : std::numeric_limits<double>::infinity();
}

Value Number(double number) {
  Value value;
  value.set_number_value(number);
  return value;
}

std::string Json(const Struct& object) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(object, &json).ok());
  return json;
}

// A tree in dp_accounting's shape, {"type": "poisson_sampled", ..., "event": {"type": ...}}, as a
// MechanismEvent's JSON, {"poisson_sampled": {..., "event": {...}}}. `solved` stands in the place
// of
// "?"; noise multipliers are taken times `noise_scale`. A loss distribution of a discrete Gaussian
// is that of one dimension, a Rényi curve that of any.
Struct MechanismOf(const Struct& tree, double solved, double noise_scale, bool by_renyi) {
  const std::string type = StringAt(tree, "type");
  if (type == "sampled_without_replacement") noise_scale = 2;
  Struct fields;
  for (const auto& [name, value] : tree.fields()) {
    if (name == "type" || value.has_null_value()) continue;
    Value& field = (*fields.mutable_fields())[name];
    field = value;
    if (name == "event") {
      *field.mutable_struct_value() =
          MechanismOf(value.struct_value(), solved, noise_scale, by_renyi);
    } else if (value.has_string_value()) {
      if (value.string_value() == "?") field = Number(solved);
      if (value.string_value() == "inf") field.set_string_value("Infinity");
    } else if (name == "step_counts" && value.has_number_value()) {
      field.mutable_list_value()->add_values()->set_number_value(value.number_value());
    }
    if (name == "noise_multiplier") field = Number(field.number_value() * noise_scale);
  }
  if (type == "discrete_gaussian" && !by_renyi) (*fields.mutable_fields())["dimension"] = Number(1);
  Struct mechanism;
  *(*mechanism.mutable_fields())[type].mutable_struct_value() = fields;
  return mechanism;
}

std::string KindOf(const Struct& tree) {
  const std::string type = StringAt(tree, "type");
  if (!Has(tree, "event")) return type;
  return type + "(" + KindOf(tree.fields().at("event").struct_value()) + ")";
}

std::string LineOf(Struct mechanism, double count) {
  (*mechanism.mutable_fields())["count"] = Number(count);
  Struct event;
  *(*event.mutable_fields())["mechanism"].mutable_struct_value() = std::move(mechanism);
  return Json(event);
}

Adjacency AdjacencyOf(const std::string& neighboring) {
  if (neighboring == "replace_one") return Adjacency::kReplaceOne;
  if (neighboring == "replace_special") return Adjacency::kZeroOut;
  return Adjacency::kAddOrRemoveOne;
}

ReferenceCase GoogleCase(const Struct& c) {
  ReferenceCase reference;
  reference.id = StringAt(c, "id");
  reference.adjacency = AdjacencyOf(StringAt(c, "neighboring"));
  reference.by_renyi = StringAt(c, "accountant") == "rdp";
  if (Has(c, "caveat")) reference.caveat = StringAt(c, "caveat");

  const std::string quantity = StringAt(c, "quantity");
  const double value = RealAt(c, "value");
  double claimed = value;
  if (quantity == "epsilon") {
    reference.given = NumberAt(c, "delta");
  } else if (quantity == "delta") {
    reference.quantity = Quantity::kDelta;
    reference.given = NumberAt(c, "epsilon");
  } else if (quantity == "renyi_divergence") {
    reference.quantity = Quantity::kRenyiDivergence;
    reference.given = NumberAt(c, "order");
  } else if (quantity == "true_positive_rate") {
    reference.quantity = Quantity::kTruePositiveRate;
    reference.given = NumberAt(c, "false_positive_rate");
  } else {  // a parameter was solved for
    reference.given = NumberAt(c, "delta");
    claimed = NumberAt(c, "epsilon");
  }
  const bool exact = Has(c, "exact");
  const bool above = !exact && c.fields().at("pessimistic").bool_value();
  const Interval known;
  reference.theirs = {above ? known.lower() : claimed, exact || above ? claimed : known.upper()};

  std::set<std::string> kinds;
  for (const Value& entry : ListAt(c, "events")) {
    const Struct& tree = entry.struct_value().fields().at("event").struct_value();
    const Value& count = entry.struct_value().fields().at("count");
    kinds.insert(KindOf(tree));
    reference.events.push_back(LineOf(MechanismOf(tree, value, 1, reference.by_renyi),
                                      count.has_number_value() ? count.number_value() : value));
  }
  reference.kind = absl::StrJoin(kinds, " + ");
  return reference;
}

Struct Leaf(const std::string& type, const std::string& field, double value) {
  Struct tree;
  (*tree.mutable_fields())["type"].set_string_value(type);
  (*tree.mutable_fields())[field] = Number(value);
  return tree;
}

// The peers' kinds in dp_accounting's shape.
Struct TreeOfPeer(const Struct& event) {
  const std::string kind = StringAt(event, "kind");
  if (kind == "laplace")
    return Leaf("laplace", "noise_multiplier", 1 / NumberAt(event, "l1_sensitivity_over_scale"));
  if (kind == "epsilon_dp") return Leaf("epsilon_delta", "epsilon", NumberAt(event, "epsilon"));
  if (kind == "epsilon_delta_dp") {
    Struct tree = Leaf("epsilon_delta", "epsilon", NumberAt(event, "epsilon"));
    (*tree.mutable_fields())["delta"] = Number(NumberAt(event, "delta"));
    return tree;
  }
  Struct gaussian = Leaf("gaussian", "noise_multiplier", 0);
  Value& noise = (*gaussian.mutable_fields())["noise_multiplier"];
  if (Has(event, "noise_multiplier")) {
    noise = Number(NumberAt(event, "noise_multiplier"));
  } else {
    noise.set_string_value("?");
  }
  if (kind == "gaussian") return gaussian;
  Struct sampled =
      Leaf("poisson_sampled", "sampling_probability", NumberAt(event, "sampling_probability"));
  *(*sampled.mutable_fields())["event"].mutable_struct_value() = std::move(gaussian);
  return sampled;
}

ReferenceCase PeerCase(const Struct& c) {
  ReferenceCase reference;
  reference.id = StringAt(c, "id");
  reference.by_renyi = StringAt(c, "accountant") == "rdp";
  const std::string quantity = StringAt(c, "quantity");
  double solved = 0;
  if (quantity == "delta") {
    reference.quantity = Quantity::kDelta;
    reference.given = NumberAt(c, "epsilon");
  } else {
    reference.given = NumberAt(c, "delta");
  }
  if (quantity == "noise_multiplier") {
    solved = NumberAt(c, "value");
    reference.theirs = {0, NumberAt(c, "epsilon")};
  } else if (Has(c, "upper")) {
    reference.theirs = {NumberAt(c, "lower"), NumberAt(c, "upper")};
  } else {
    reference.theirs = {0, NumberAt(c, "value")};
  }
  std::set<std::string> kinds;
  for (const Value& entry : ListAt(c, "events")) {
    const Struct tree = TreeOfPeer(entry.struct_value());
    kinds.insert(KindOf(tree));
    reference.events.push_back(LineOf(MechanismOf(tree, solved, 1, reference.by_renyi),
                                      NumberAt(entry.struct_value(), "count")));
  }
  reference.kind = absl::StrJoin(kinds, " + ");
  return reference;
}

}  // namespace

std::vector<ReferenceCase> GoogleCases() {
  std::vector<ReferenceCase> cases;
  const auto file = testing::ReadJsonFile("tests/data/google_dp.json");
  for (const Value& value : ListAt(file, "cases"))
    cases.push_back(GoogleCase(value.struct_value()));
  return cases;
}

std::vector<ReferenceCase> PeerCases() {
  std::vector<ReferenceCase> cases;
  const auto file = testing::ReadJsonFile("tests/data/peers.json");
  for (const Value& value : ListAt(file, "cases")) {
    if (StringAt(value.struct_value(), "accountant") != "gdp")
      cases.push_back(PeerCase(value.struct_value()));
  }
  return cases;
}

absl::StatusOr<Composition> Compose(const ReferenceCase& reference) {
  History history;
  for (const std::string& line : reference.events) {
    ASSIGN_OR_RETURN(const v1::Event message, events::EventFromJson(line));
    ASSIGN_OR_RETURN(const Event event, events::ValueOf(message));
    history.Add("writer", event);
  }
  return Resolve(history, reference.adjacency);
}

}  // namespace dpledger::accountant::conformance
