#include "accounting/fork_gate.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <pthread.h>

#include <mutex>
#include <new>
#include <set>

#include "dpledger/v1/accounting_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace dpledger::accounting {
namespace {

using google::protobuf::Descriptor;

std::shared_mutex mutex;
// In the child no other thread is left, and the mutex still counts those that waited for it.
const int at_fork = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                   [] { new (&mutex) std::shared_mutex; });

// Resolves the types of all fields below `type`: generated messages do so at their first use, field
// by field.
void Resolve(const Descriptor& type, std::set<const Descriptor*>& seen) {
  if (!seen.insert(&type).second) return;
  const auto& prototype =
      *google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  prototype.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    if (field.message_type() != nullptr) Resolve(*field.message_type(), seen);
    if (field.enum_type() != nullptr) field.default_value_enum();
  }
}

void ResolveAll() {
  std::set<const Descriptor*> seen;
  for (const Descriptor* message :
       {v1::ComputeEpsilonRequest::descriptor(), google::rpc::Status::descriptor(),
        google::rpc::ErrorInfo::descriptor()}) {
    const auto& file = *message->file();
    for (int i = 0; i < file.message_type_count(); ++i) Resolve(*file.message_type(i), seen);
  }
}

}  // namespace

ForkGate::ForkGate() : held_(mutex) {
  static std::once_flag resolved;
  std::call_once(resolved, ResolveAll);
}

}  // namespace dpledger::accounting
