# dpledger: server, command line and example trainer. Packages come from deploy/debian-packages.txt only.
#   docker build -t dpledger .
# (podman and buildah keep the health check with --format docker only.)
#   docker run --rm -p 127.0.0.1:7070:7070 -v ledgers:/var/lib/dpledger dpledger
ARG BASE=debian:12
ARG RUN_BASE=debian:12-slim

FROM ${BASE} AS build
COPY deploy/debian-packages.txt /tmp/debian-packages.txt
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      $(sed -n 's/^\(build\|page\|wasm\) //p' /tmp/debian-packages.txt) \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# Without its libraries the page has no accounting in it, and says so.
RUN cmake --preset release -DDPLEDGER_WASM_LIBRARIES="$(wasm/libraries.sh)" -DDPLEDGER_BUILD_TESTS=OFF -DDPLEDGER_BUILD_BENCH=OFF \
 && cmake --build --preset release --target dpledger dpledger-server dpledger-witness dp_sgd dashboard \
 && mkdir -p build/release/dashboard \
 && strip build/release/bin/dpledger build/release/bin/dpledger-server build/release/bin/dpledger-witness build/release/bin/dp_sgd \
      build/release/lib/libdpledger.so.1 build/release/lib/libdpledger_messages.so.*

FROM ${RUN_BASE}
COPY deploy/debian-packages.txt /tmp/debian-packages.txt
# Left out, 7 MB: what the libraries' packages bring along and none of the programs loads.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o Dpkg::Options::='--path-exclude=/usr/lib/*/libgrpc*_unsecure.so*' \
      -o Dpkg::Options::='--path-exclude=/usr/lib/*/libprotoc.so*' \
      -o Dpkg::Options::='--path-exclude=/usr/share/doc/*/changelog*' \
      $(sed -n 's/^run //p' /tmp/debian-packages.txt) \
 && apt-get clean && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log /tmp/debian-packages.txt \
 && useradd --system --uid 7070 --home-dir /var/lib/dpledger --create-home --shell /usr/sbin/nologin dpledger
COPY --from=build /src/build/release/bin/dpledger /src/build/release/bin/dpledger-server \
     /src/build/release/bin/dpledger-witness \
     /src/build/release/bin/dp_sgd /usr/local/bin/
COPY --from=build /src/build/release/lib/libdpledger.so.1 /src/build/release/lib/libdpledger_messages.so.* /usr/local/lib/
RUN ldconfig && ! ldd /usr/local/bin/* /usr/local/lib/*.so.* | grep 'not found'
# The page, with the verifier for one's own disk in it; empty where npm's packages could not be fetched.
COPY --from=build /src/build/release/dashboard /usr/local/share/dpledger/page
COPY LICENSE README.md /usr/share/doc/dpledger/
USER dpledger
VOLUME /var/lib/dpledger
EXPOSE 7070
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 \
  CMD ["dpledger-server", "--check", "https://localhost:7070"]
STOPSIGNAL SIGTERM
# The container's address is reachable from outside it by design: mount the certificate, its key and the authority of
# the health check at /etc/dpledger. The first start leaves the token of an administrator beside the store.
ENV DPLEDGER_CA=/etc/dpledger/ca.pem
ENTRYPOINT ["dpledger-server"]
CMD ["--listen", "0.0.0.0:7070", "--cert", "/etc/dpledger/server.pem", "--cert-key", "/etc/dpledger/server.key", \
     "--identity", "--store", "/var/lib/dpledger/store"]
