#!/bin/sh
# Builds the static libraries that the Python wheel's libraries are made of, and prints the folder they are in:
#
#   cmake/static_libraries.sh [--cached]      --cached: fails, and builds nothing, unless they are there already
#
# Debian's own archives of protobuf, Abseil and Highway are not position independent, or not there. They are built from
# Debian's source packages, with Debian's patches, in exactly the versions whose headers are installed: headers and
# archives are then of one piece. apt checks the sources' signatures. Nothing is written to the system or the clone:
# sources and archives are below ${XDG_CACHE_HOME:-~/.cache}/dpledger, in a folder named by all that they depend on.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/dpledger
headers='libprotobuf-dev libabsl-dev libhwy-dev'
# shellcheck disable=SC2086 # one word for each package
versions=$(dpkg-query -W -f '${source:Package}=${source:Version}\n' $headers)
key=$( (echo "$versions"; c++ --version; cat "$0") | sha256sum | cut -c 1-16)
done=$cache/static-$key
if [ -e "$done/complete" ]; then
  echo "$done"
  exit
fi
if [ "${1-}" = --cached ]; then
  echo "static_libraries: $done is not there; run $0 once (4 minutes, 40 MB from Debian's archive)" >&2
  exit 1
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/build-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The system's own lists may have no sources: lists of our own, for this alone.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
cat > "$work/sources.list" <<EOF
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
cd "$work"

# sections: what the libraries do not use is left out of them. hidden: nothing of it shows, or is taken from elsewhere.
flags='-O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections -fdata-sections -DNDEBUG'
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

result=$work/result
mkdir "$result"
mv "$work/lib" "$result/lib"
mkdir "$result/licences"  # which the wheel carries
for name in abseil protobuf highway; do
  cp "$work/sources/$name"-*/debian/copyright "$result/licences/$name"
done
echo "$versions" > "$result/versions"
touch "$result/complete"
# Another build may have been first: its libraries are the same.
mv -T "$result" "$done" 2>/dev/null || [ -e "$done/complete" ]
echo "$done"
