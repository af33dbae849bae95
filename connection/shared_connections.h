// The process's connections to servers, which its recorders share: each recorder with one of its
// own would meet the server's limit of connections from one host, and all of them on one that of
// calls on one connection (--max-streams), where gRPC lets the next call wait for ever without a
// word.
//
// Thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/channel.h"

namespace dpledger::connection {

class SharedConnections {
 public:
  // At most so many users have one channel. A user has a stream and a few calls under way at once;
  // the server takes 256 calls on a connection unless told otherwise.
  explicit SharedConnections(size_t users) : table_(std::make_shared<Table>(users)) {}

  // Of the whole process; never destroyed.
  static SharedConnections& OfProcess();

  // The channel of `key` that has room for one more user, or the one that `make` gives. It counts
  // as used until all copies of the pointer are gone.
  std::shared_ptr<grpc::Channel> Get(const std::string& key,
                                     const std::function<std::shared_ptr<grpc::Channel>()>& make);

  // Nobody else gets this channel; its users keep it.
  void GiveUp(const grpc::Channel* channel);

  size_t channels() const;

 private:
  struct Shared {
    std::shared_ptr<grpc::Channel> channel;
    size_t users = 0;
    bool given_up = false;
  };
  struct Table {
    explicit Table(size_t most) : max_users(most) {}
    const size_t max_users;
    absl::Mutex mutex;
    std::multimap<std::string, Shared> channels ABSL_GUARDED_BY(mutex);
  };

  const std::shared_ptr<Table> table_;
};

}  // namespace dpledger::connection
