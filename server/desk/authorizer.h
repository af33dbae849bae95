// Who may do what. The desk asks for every call, and for every message of a stream, before a
// service sees it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "identity/grant.h"
#include "server/call_context.h"

namespace dpledger::server {

using identity::Permission;

// What a permission is asked for. `name` is as the request has it: it may be empty, name nothing
// that exists, or be no name at all.
struct Resource {
  enum class Kind {
    kServer,    // nothing that has a name: a question about given events alone
    kProject,   // "projects/p"; "projects/-" is all projects
    kLedger,    // "projects/p/ledgers/l"
    kRegistry,  // the log of all ledgers
    kDataset    // all ledgers over a data set, of every project: `name` is the data set's
  };
  Kind kind = Kind::kServer;
  std::string name;
  // Of a ledger that the request makes: the data set that it declares. Empty: the ledger's own.
  std::string data_set = {};
  // Of a fork that declares nothing: its parent, whose data set it has.
  std::string parent = {};
};

// Thread safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // OK, or the call's answer: PERMISSION_DENIED, for example. Must not tell whether the resource
  // exists. Called on the thread that takes the message: it must not wait for the disk.
  virtual absl::Status Decide(const Caller& caller, Permission permission,
                              const Resource& resource) = 0;
};

// Lets everybody do everything.
class AllowAll : public Authorizer {
 public:
  absl::Status Decide(const Caller&, Permission, const Resource&) override {
    return absl::OkStatus();
  }
};

}  // namespace dpledger::server
