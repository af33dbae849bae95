#include "merkle/ed25519.h"

#include <gtest/gtest.h>

#include <ostream>
#include <type_traits>

#include "base/hex.h"

namespace dpledger::merkle {
namespace {

// RFC 8032, section 7.1, tests 1 to 3.
struct Vector {
  const char* seed;
  const char* public_key;
  const char* message;
  const char* signature;
};
const Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "4"
     "6bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d"
     "8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "6"
     "594a7c15e9716ed28dc027beceea1ec40a"}};

// RFC 8410, section 10.3, and the public key of section 10.1.
constexpr char kPem[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
    "-----END PRIVATE KEY-----\n";
constexpr char kPemPublicKey[] = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";

template <size_t kSize>
std::string Hex(const std::array<uint8_t, kSize>& bytes) {
  return HexEncode({reinterpret_cast<const char*>(bytes.data()), kSize});
}

template <typename Type>
concept Streamable = requires(std::ostream& out, const Type& value) {
  out << value;
};
static_assert(!Streamable<Ed25519PrivateKey>);
static_assert(!std::is_copy_constructible_v<Ed25519PrivateKey>);
static_assert(std::is_nothrow_move_constructible_v<Ed25519PrivateKey>);

TEST(Ed25519, MatchesTheVectorsOfTheStandard) {
  for (const Vector& vector : kVectors) {
    const Ed25519PrivateKey key =
        Ed25519PrivateKey::FromSeed(HexDecode(vector.seed).value()).value();
    const std::string message = HexDecode(vector.message).value();
    EXPECT_EQ(Hex(key.public_key()), vector.public_key);
    EXPECT_EQ(Hex(key.Sign(message)), vector.signature);
    EXPECT_TRUE(Ed25519Verify(key.public_key(), message, key.Sign(message)));
  }
}

TEST(Ed25519, RefusesEveryFlippedBit) {
  const Ed25519PrivateKey key = Ed25519PrivateKey::FromPem(kPem).value();
  const std::string message = "message";
  const Ed25519Signature signature = key.Sign(message);
  for (size_t bit = 0; bit < 512; ++bit) {
    const auto flip = [bit](auto bytes) {
      bytes[bit / 8 % bytes.size()] ^= static_cast<uint8_t>(1 << bit % 8);
      return bytes;
    };
    ASSERT_FALSE(Ed25519Verify(key.public_key(), message, flip(signature)));
    ASSERT_FALSE(Ed25519Verify(flip(key.public_key()), message, signature));
  }
  EXPECT_FALSE(Ed25519Verify(key.public_key(), "messages", signature));
  EXPECT_FALSE(Ed25519Verify({}, message, {}));
  EXPECT_TRUE(Ed25519Verify(key.public_key(), message, signature));
}

TEST(Ed25519, GeneratesAnotherKeyEveryTime) {
  const Ed25519PrivateKey one = Ed25519PrivateKey::Generate().value();
  const Ed25519PrivateKey two = Ed25519PrivateKey::Generate().value();
  EXPECT_NE(one.public_key(), two.public_key());
  EXPECT_TRUE(Ed25519Verify(one.public_key(), "m", one.Sign("m")));
  EXPECT_FALSE(Ed25519Verify(one.public_key(), "m", two.Sign("m")));
}

TEST(Ed25519, KeepsKeysAsPem) {
  const Ed25519PrivateKey key = Ed25519PrivateKey::FromPem(kPem).value();
  EXPECT_EQ(Hex(key.public_key()), kPemPublicKey);
  EXPECT_EQ(key.ToPem(), kPem);
  const Ed25519PrivateKey fresh = Ed25519PrivateKey::Generate().value();
  EXPECT_EQ(Ed25519PrivateKey::FromPem(fresh.ToPem())->public_key(), fresh.public_key());
}

TEST(Ed25519, RefusesWhatIsNoPemOfOne) {
  const std::string pem = kPem;
  const std::string x25519 =  // an X25519 key, RFC 8410's other algorithm
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VuBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
      "-----END PRIVATE KEY-----\n";
  const std::string encrypted =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4=\n-----END ENCRYPTED PRIVATE KEY-----\n";
  for (const std::string& text :
       {std::string(), std::string("key"), pem + pem, x25519, encrypted, "text\n" + pem,
        pem + "text\n", pem + std::string(5000, '\n') + "x", std::string(100000, 'a')}) {
    const absl::Status status = Ed25519PrivateKey::FromPem(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              "private key: must be one unencrypted Ed25519 key as PEM, -----BEGIN PRIVATE "
              "KEY-----");
  }
  // An editor's blanks around it do no harm; a missing end does.
  EXPECT_TRUE(Ed25519PrivateKey::FromPem("\n" + pem + "\r\n").ok());
  for (size_t length = 0; length < pem.size() - 1; ++length) {
    ASSERT_FALSE(Ed25519PrivateKey::FromPem(pem.substr(0, length)).ok()) << length;
  }
  EXPECT_EQ(Ed25519PrivateKey::FromSeed(std::string(31, 'x')).status().message(),
            "seed: must be 32 bytes");
}

TEST(Wipe, LeavesNoByteOfTheSecret) {
  std::string secret(100, 'x');
  const char* const bytes = secret.data();
  Wipe(secret);
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(std::string(bytes, 100), std::string(100, '\0'));
}

}  // namespace
}  // namespace dpledger::merkle
