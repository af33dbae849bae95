// The front of the server's doors: accepts connections, ends their TLS, and hands each to the door
// that speaks its protocol, as one end of a socket pair.
//
// gRPC's own listener stops for good when descriptors run out, keeps 20 KB for every call that a
// client resets, and serves TLS at half the speed; a door behind this front sees neither. The front
//
//  1. keeps to a number of connections, of one address too, that leaves descriptors for the store;
//  2. closes what does not finish its handshake, or says nothing, within a few seconds;
//  3. counts the frames of HTTP/2 that cost a server more than a client (allowance.h), and ends a
//     connection that sends too many, with GOAWAY (ENHANCE_YOUR_CALM);
//  4. reads certificates again when their files change (tls.h), and ends connections whose client's
//     certificate is not good any more by what they say now;
//  5. takes the client's address from proxies that it was told to trust.
//
// Thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "front/allowance.h"
#include "front/closings.h"
#include "front/peer.h"

namespace dpledger::front {

// PEM files, read again when they change.
struct TlsFiles {
  std::string certificate;  // the server's chain, its own certificate first; empty: plain text
  std::string key;          // of the certificate
  std::string client_ca;    // who may sign clients' certificates; empty: they are not asked
  std::string client_crl;   // lists of clients' certificates that were taken back; may be empty
};

// The most connections that a process can bear: each takes three descriptors, and `reserved` stay
// for everything else. RESOURCE_EXHAUSTED if that leaves fewer than 16.
absl::StatusOr<size_t> ConnectionsFor(size_t wanted, size_t descriptors, size_t reserved);

struct FrontOptions {
  std::string address = "127.0.0.1:7070";  // IP:PORT, [IP]:PORT; port 0 picks a free one
  TlsFiles tls;
  size_t max_connections = 1024;
  size_t max_connections_per_host = 256;
  AllowanceOptions allowance;
  // Proxies of one's own, "192.0.2.1" or "10.0.0.0/8": their connections are not bounded by host.
  std::vector<std::string> trusted_proxies;
  // Each of their connections begins with a PROXY header (proxy_header.h), and is its client's.
  bool proxy_protocol = false;
  absl::Duration handshake = absl::Seconds(5);  // until the first bytes of a request
  absl::Duration stalled = absl::Seconds(60);   // for a client that reads nothing of an answer
  int threads = 2;
};

// What the front has counted since its start.
struct FrontFigures {
  size_t connections = 0;                        // that are open
  uint64_t accepted = 0;                         // those that were closed at once included
  std::array<uint64_t, kClosings.size()> ended;  // refused, or ended by the front
  uint64_t reload_failures = 0;                  // of the files of TLS
  std::optional<absl::Time> certificate_ends;    // of the one in use; none in plain text
};

// Takes the end of a socket pair, which it owns from now on. `name` finds the peer while the
// connection is open (Front::Find).
using Door = std::function<void(int descriptor, const std::string& name)>;

class Front {
 public:
  // The front listens when Listen returns, and accepts from Start on. INVALID_ARGUMENT for an
  // address of another form and for files of TLS that do not load; UNAVAILABLE with the system's
  // message if the address cannot be listened on. `log` must outlive the front.
  static absl::StatusOr<std::unique_ptr<Front>> Listen(const FrontOptions& options, const Log* log);
  virtual ~Front() = default;  // ends all connections

  // `http2` takes connections that speak HTTP/2, `http1` all others; an empty one closes them.
  virtual void Start(Door http2, Door http1) = 0;
  // Accepts no more. Connections that are open stay so.
  virtual void Close() = 0;

  virtual int port() const = 0;
  virtual FrontFigures figures() const = 0;
  // By what a door's transport calls the peer: "unix-abstract:NAME", or the name itself. Null: no
  // such connection.
  virtual std::shared_ptr<const Peer> Find(const std::string& name) const = 0;
  // Whether the listener accepts: dials it, for 2 s at most. False while no descriptor is left.
  virtual bool Accepts() const = 0;
};

}  // namespace dpledger::front
