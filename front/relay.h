// One connection of the front: finishes the handshake, looks which protocol it speaks, and carries
// bytes between the client and the door until either ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/time/time.h"
#include "front/allowance.h"
#include "front/closings.h"
#include "front/front.h"
#include "front/peer_table.h"

namespace dpledger::front {

// What the relays of a front share. Everything in it outlives them.
struct RelayHome {
  PeerTable* peers;
  const FrontOptions* options;
  Door http2;
  Door http1;
  // Says why a connection was ended, and what the words for it do not say.
  std::function<void(const Peer& peer, Closing why, std::string_view more)> complain;
};

// Runs on one thread, that of its socket's executor. Keeps itself alive while something is under
// way.
class Relay {
 public:
  virtual ~Relay() = default;

  virtual void Start() = 0;
  // Ends the connection if its time is up, or if its client's certificate is not good by `tls`,
  // what handshakes go by now; null in plain text.
  virtual void Look(absl::Time now, const boost::asio::ssl::context* tls) = 0;
};

// Who is at that address. Neither encrypted nor with a certificate.
Peer PeerAt(const boost::asio::ip::address& address, uint16_t port);

// `tls` null: plain text. The connection has entered `home->peers` under peer.host, and leaves it
// when the relay is destroyed. `proxied`: it begins with a PROXY header, and is its client's.
std::shared_ptr<Relay> MakeRelay(boost::asio::ip::tcp::socket socket, Peer peer, bool proxied,
                                 std::shared_ptr<boost::asio::ssl::context> tls,
                                 const RelayHome* home);

}  // namespace dpledger::front
