#!/bin/sh
# Builds protobuf and Abseil as WebAssembly, for the accountant in a browser, and prints the folder they are in:
#
#   wasm/libraries.sh       5 minutes on two cores, 7 MB from Debian's archive; nothing if they are there already
#
# As cmake/static_libraries.sh does for the Python wheel: from Debian's source packages, in exactly the versions whose
# headers and protoc are installed, into DPLEDGER_CACHE, by default ${XDG_CACHE_HOME:-~/.cache}/dpledger.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${DPLEDGER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dpledger}
versions=$(dpkg-query -W -f '${source:Package}=${source:Version}\n' libprotobuf-dev libabsl-dev)
tools=$(dpkg-query -W -f '${Package}=${Version}\n' emscripten clang-14 libhwy-dev libboost-dev)
key=$( (echo "$versions $tools"; cat "$0" "$here/module/toolchain.cmake") | sha256sum | cut -c 1-16)
done=$cache/wasm-$key
if [ -e "$done/complete" ]; then
  echo "$done"
  exit
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/build-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The system's own lists may have no sources: lists of our own, for this alone.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
cat > "$work/sources.list" <<END
deb-src $signed http://deb.debian.org/debian $release main
deb-src $signed http://deb.debian.org/debian $release-updates main
deb-src $signed http://deb.debian.org/debian-security $release-security main
END
mkdir -p "$work/lists/partial" "$work/sources"
apt() {
  apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o APT::Sandbox::User=root "$@" >&2
}
apt update
cd "$work/sources"
# shellcheck disable=SC2086 # one word for each package
apt source $versions
cd "$work"

result=$work/result
build() {  # name, options...: a source package's libraries, into $result
  name=$1
  shift
  cmake -G Ninja -S "$(echo "$work/sources/$name"-*/)" -B "$work/build-$name" \
    -DCMAKE_TOOLCHAIN_FILE="$here/module/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE='-O2 -DNDEBUG -w' -DCMAKE_CXX_STANDARD=17 -DCMAKE_INSTALL_PREFIX="$result" \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POLICY_DEFAULT_CMP0077=NEW "$@" >&2
  cmake --build "$work/build-$name" >&2
  cmake --install "$work/build-$name" >/dev/null
}
build abseil -DABSL_ENABLE_INSTALL=ON -DABSL_PROPAGATE_CXX_STD=ON
build protobuf -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_WITH_ZLIB=OFF \
  -Dprotobuf_HAVE_BUILTIN_ATOMICS=ON
# Debian has every library ask for libatomic, which here is nowhere, and is not needed.
sed -i -E 's/;?-Wl,--push-state,--as-needed;(-latomic|\\\$<LINK_ONLY:-latomic>);-Wl,--pop-state//g' \
  "$result/lib/cmake/absl/abslTargets.cmake"
# Headers alone, of the system's: Highway's plain lanes need no library.
ln -s /usr/include/boost /usr/include/hwy "$result/include/"
touch "$result/complete"
# Another build may have been first: its libraries are the same.
mv -T "$result" "$done" 2>/dev/null || [ -e "$done/complete" ]
echo "$done"
