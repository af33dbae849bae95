// The exchange of one request on a connection. Internal to http/.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "http/connection.h"
#include "http/connections.h"

namespace dpledger::http {

class ConnectionExchange : public Exchange {
 public:
  using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

  ConnectionExchange(std::shared_ptr<Connections> shared, std::shared_ptr<Connection> connection,
                     const Strand& strand, uint64_t request,
                     std::shared_ptr<std::atomic<bool>> cancelled)
      : shared_(std::move(shared)),
        connection_(std::move(connection)),
        strand_(strand),
        request_(request),
        cancelled_(std::move(cancelled)) {}

  ~ConnectionExchange() override {
    if (!complete_) {
      Run([](Connection& connection, uint64_t request) { connection.Drop(request); });
    }
  }

  void Send(Response response) override {
    if (complete_.exchange(true)) return;
    Run([response = std::move(response)](Connection& connection, uint64_t request) mutable {
      connection.Send(request, std::move(response));
    });
  }

  void Start(Response head) override {
    Run([head = std::move(head)](Connection& connection, uint64_t request) mutable {
      connection.StartStream(request, std::move(head));
    });
  }

  void Write(std::string bytes, std::function<void(bool)> done) override {
    const bool runs =
        Run([bytes = std::move(bytes), done](Connection& connection, uint64_t request) mutable {
          connection.Write(request, std::move(bytes), std::move(done));
        });
    if (!runs) done(false);
  }

  void End(std::string last) override {
    if (complete_.exchange(true)) return;
    Run([last = std::move(last)](Connection& connection, uint64_t request) mutable {
      connection.EndStream(request, std::move(last));
    });
  }

  bool cancelled() const override { return *cancelled_; }

  void OnCancel(std::function<void()> gone) override {
    const bool runs = Run([gone](Connection& connection, uint64_t request) mutable {
      connection.OnCancel(request, std::move(gone));
    });
    if (!runs) gone();
  }

 private:
  // Runs `task` on the strand, at once if this is the strand; false if the server has closed.
  template <typename Task>
  bool Run(Task task) {
    if (strand_.running_in_this_thread()) {
      task(*connection_, request_);
      return true;
    }
    return shared_->Post(
        strand_, [connection = connection_, request = request_, task = std::move(task)]() mutable {
          task(*connection, request);
        });
  }

  const std::shared_ptr<Connections> shared_;
  const std::shared_ptr<Connection> connection_;
  const Strand strand_;
  const uint64_t request_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;
  std::atomic<bool> complete_ = false;
};

}  // namespace dpledger::http
