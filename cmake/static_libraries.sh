#!/bin/sh
# Builds the libraries that the Python wheel's libraries are made of, and prints the folder they are in:
#
#   cmake/static_libraries.sh [--cached]      --cached: fails, and builds nothing, unless they are there already
#
# Debian's own archives of protobuf, Abseil, Highway, re2 and RocksDB are not position independent, or not there. They
# are built from Debian's source packages, with Debian's patches, in exactly the versions whose headers are installed:
# headers and archives are then of one piece. (Debian's archives of gRPC, OpenSSL, c-ares, Snappy and zlib fit as they
# are.) MPFR and GMP are LGPL, and so stay shared objects that a user can replace: Debian's own, under names of ours, so
# that they are neither taken from another part of the process nor given to one. apt checks all signatures. Nothing is
# written to the system or the clone: sources and results are below DPLEDGER_CACHE, by default
# ${XDG_CACHE_HOME:-~/.cache}/dpledger, in a folder named by all that they depend on.
set -eu

cache=${DPLEDGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dpledger}
headers='libprotobuf-dev libabsl-dev libhwy-dev libre2-dev librocksdb-dev'
shared='libmpfr6 libgmp10'
# shellcheck disable=SC2086 # one word for each package
versions=$(dpkg-query -W -f '${source:Package}=${source:Version}\n' $headers)
# shellcheck disable=SC2086
copied=$(dpkg-query -W -f '${source:Package}=${source:Version}\n' $shared)
key=$( (echo "$versions $copied"; c++ --version; cat "$0") | sha256sum | cut -c 1-16)
done=$cache/static-$key
if [ -e "$done/complete" ]; then
  echo "$done"
  exit
fi
if [ "${1-}" = --cached ]; then
  echo "static_libraries: $done is not there; run $0 once (10 minutes on two cores, 40 MB from Debian's archive)" >&2
  exit 1
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/build-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The system's own lists may have no sources: lists of our own, for this alone.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
cat > "$work/sources.list" <<EOF
deb $signed http://deb.debian.org/debian $release main
deb-src $signed http://deb.debian.org/debian $release main
deb-src $signed http://deb.debian.org/debian $release-updates main
deb-src $signed http://deb.debian.org/debian-security $release-security main
EOF
mkdir -p "$work/lists/partial" "$work/sources"
apt() {
  apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o APT::Sandbox::User=root "$@" >&2
}
apt update
cd "$work/sources"
# shellcheck disable=SC2086
apt source $versions
apt download patchelf
cd "$work"

# sections: what the libraries do not use is left out of them. hidden: nothing of it shows, or is taken from elsewhere.
# prefix-map: messages name files, and two builds are the same bytes.
flags="-O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections -fdata-sections -DNDEBUG"
flags="$flags -ffile-prefix-map=$work=."
build() {  # name, options...: a source package's static libraries, into $work/lib
  name=$1
  shift
  cmake -G Ninja -S "$(echo "$work/sources/$name"-*/)" -B "$work/build-$name" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_CXX_STANDARD=17 -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POLICY_DEFAULT_CMP0077=NEW \
    -DCMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER-}" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-}" "$@" >&2
  cmake --build "$work/build-$name" ${target:+--target $target} >&2
  find "$work/build-$name" -name '*.a' -exec cp {} "$work/lib/" \;
}
mkdir "$work/lib"
target='' build abseil
target=libprotobuf build protobuf -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF \
  -Dprotobuf_WITH_ZLIB=OFF
target=hwy build highway -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
# Debian's source of re2 is without three tables, which its build makes from Unicode's. Those of Debian's archive are
# data alone, which is position independent.
(cd "$work/sources/re2"-*/re2 && touch perl_groups.cc unicode_casefold.cc unicode_groups.cc)
target=re2 build re2 -DRE2_BUILD_TESTING=OFF
# Snappy is what a server's store is compressed by. PORTABLE: for any processor, not for this one.
target=rocksdb build rocksdb -DPORTABLE=ON -DROCKSDB_BUILD_SHARED=OFF -DUSE_RTTI=ON -DWITH_SNAPPY=ON \
  -DWITH_GFLAGS=OFF -DWITH_LIBURING=OFF -DWITH_TESTS=OFF -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF \
  -DWITH_BENCHMARK_TOOLS=OFF -DFAIL_ON_WARNINGS=OFF
mkdir "$work/tables"
(cd "$work/tables" && ar x "$(c++ -print-file-name=libre2.a)" perl_groups.o unicode_casefold.o unicode_groups.o &&
  ar q ../lib/libre2.a ./*.o)

# One change a call: with two, this patchelf (0.14) writes one over the other.
dpkg -x "$work"/sources/patchelf_*.deb "$work/patchelf"
rename() {  # library, its soname here: a copy of Debian's in $work/lib
  cp -L "$(c++ -print-file-name="$1")" "$work/lib/$2"
  "$work/patchelf/usr/bin/patchelf" --set-soname "$2" "$work/lib/$2"
}
rename libgmp.so.10 libdpledger-gmp.so.10
rename libmpfr.so.6 libdpledger-mpfr.so.6
"$work/patchelf/usr/bin/patchelf" --replace-needed libgmp.so.10 libdpledger-gmp.so.10 "$work/lib/libdpledger-mpfr.so.6"
# shellcheck disable=SC2016 # the loader's variable
"$work/patchelf/usr/bin/patchelf" --set-rpath '$ORIGIN' "$work/lib/libdpledger-mpfr.so.6"

result=$work/result
mkdir "$result"
mv "$work/lib" "$result/lib"
printf '%s\n%s\n' "$versions" "$copied" > "$result/versions"
touch "$result/complete"
# Another build may have been first: its libraries are the same.
mv -T "$result" "$done" 2>/dev/null || [ -e "$done/complete" ]
echo "$done"
