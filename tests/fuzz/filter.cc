// Filters and orders of lists. Whatever is taken can be asked about a ledger, with a summary and
// without one; what is true of it is not true of its opposite.
#include "server/summaries/filter.h"

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "tests/fuzz/target.h"
#include "tests/server/row_of.h"

namespace dpledger::fuzz {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace server;
  const std::string_view input = Text(data, size);
  v1::Ledger ledger;
  ledger.set_name("projects/p/ledgers/adult-1");
  ledger.set_size(12);
  ledger.set_state(v1::OPEN);
  ledger.mutable_declaration()->set_dataset("adult");
  v1::LedgerSummary summary;
  summary.mutable_epsilon()->set_upper(1.5);
  summary.set_delta(1e-5);
  summary.set_rounds(10);
  const absl::Time now = absl::FromUnixSeconds(1795341600);
  const LedgerRow with_summary = RowOf(ledger, summary), without = RowOf(ledger, std::nullopt);
  const Listed known = {with_summary, now}, unknown = {without, now};

  if (const auto order = ListOrder::Parse(input); order.ok()) {
    const ListOrder::Place a = order->PlaceOf(known.ledger), b = order->PlaceOf(unknown.ledger);
    FUZZ_CHECK(!order->Before(a, a) && !(order->Before(a, b) && order->Before(b, a)));
  }
  const auto filter = Filter::Parse(input);
  if (!filter.ok()) return 0;
  const auto opposite = Filter::Parse(absl::StrCat("NOT (", ToAbsl(input), ")"));
  for (const Listed& listed : {known, unknown}) {
    const bool holds = filter->Holds(listed);
    if (opposite.ok()) FUZZ_CHECK(opposite->Holds(listed) != holds);
  }
  return 0;
}

}  // namespace dpledger::fuzz
