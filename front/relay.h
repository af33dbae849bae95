// One connection of the front: finishes the handshake, looks which protocol it speaks, and carries
// bytes between the client and the door until either ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "front/allowance.h"
#include "front/closings.h"
#include "front/front.h"
#include "front/peer_table.h"

namespace dpledger::front {

// What the relays of a front share. Everything in it outlives them.
struct RelayHome {
  PeerTable* peers;
  AllowanceOptions allowance;
  absl::Duration handshake;
  absl::Duration stalled;
  Door http2;
  Door http1;
  // Says why a connection was ended.
  std::function<void(const Peer& peer, Closing why)> complain;
};

// Runs on one thread, that of its socket's executor. Keeps itself alive while something is under
// way.
class Relay {
 public:
  virtual ~Relay() = default;

  virtual void Start() = 0;
  // Ends the connection if its time is up.
  virtual void Look(absl::Time now) = 0;
  virtual void End() = 0;
};

// `tls` null: plain text. The connection has entered `home->peers` under peer.host, and leaves it
// when the relay is destroyed.
std::shared_ptr<Relay> MakeRelay(boost::asio::ip::tcp::socket socket, Peer peer,
                                 std::shared_ptr<boost::asio::ssl::context> tls,
                                 const RelayHome* home);

}  // namespace dpledger::front
