"""What stands between holds a connection and forwards nothing more, while new connections work: a
round under way goes on over a new one, long before it is given up after five minutes."""
import os
import socket
import threading
import unittest

import support
import dpledger


class Middlebox:
    """Forwards to the server, until `hang`; then only what is dialled anew."""

    def __init__(self, address):
        self.address, self.generation, self.dialled, self.ends = address, 0, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def port(self):
        return self.listener.getsockname()[1]

    def hang(self):
        self.generation += 1

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed
            server = socket.create_connection(self.address)
            self.dialled += 1
            self.ends += [client, server]
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.forward, args=(*ends, self.generation),
                                 daemon=True).start()

    def forward(self, source, sink, generation):
        try:
            while data := source.recv(65536):
                if generation == self.generation:
                    sink.sendall(data)
        except OSError:
            pass
        if generation == self.generation:
            sink.close()

    def close(self):
        for end in [self.listener, *self.ends]:
            end.close()


class HungConnection(support.WithServer):
    def test_a_round_goes_on_over_a_new_connection(self):
        host, port = self.server.address.rsplit(":", 1)
        between = Middlebox((host, int(port)))
        self.addCleanup(between.close)
        scheme, query = dpledger.Poisson(0.1, 1000), dpledger.SumQuery(1.0, 2.0)
        with self.recorder("hung", server=f"127.0.0.1:{between.port()}") as ledger:
            ledger.round(scheme, query).await_releasable()
            before = between.dialled
            between.hang()
            ledger.round(scheme, query).await_releasable()
            self.assertGreater(between.dialled, before)
        entries = self.program("ledger", "read", "hung")
        self.assertEqual(entries.count('"sampling":'), 2, entries)

    def test_several_servers_are_named_here_or_in_the_environment(self):
        scheme, query = dpledger.Poisson(0.1, 1000), dpledger.SumQuery(1.0, 2.0)
        both = f"127.0.0.1:1,{self.server.address}"  # nobody listens at the first
        os.environ["DPLEDGER_SERVER"] = both
        self.addCleanup(os.environ.pop, "DPLEDGER_SERVER")
        for name, server in (("named", both), ("environment", None)):
            with self.recorder(name, server=server) as ledger:
                ledger.round(scheme, query).await_releasable()
        with self.assertRaisesRegex(dpledger.Error, "server: must be host:port, got b"):
            self.recorder("wrong", server="a:1,b")


if __name__ == "__main__":
    unittest.main()
