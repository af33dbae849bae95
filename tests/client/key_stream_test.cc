#include "client/key_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstring>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "tests/support/targets.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::kWithoutAes;
using ::dpledger::testing::OnEveryTarget;
using ::dpledger::testing::OnlyTargets;

std::string BytesOf(absl::Span<const uint64_t> words) {
  std::string bytes;
  for (const uint64_t word : words) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(word >> (8 * i)));
  }
  return bytes;
}

std::vector<uint8_t> Unhex(const std::string& hex) {
  const std::string bytes = *HexDecode(hex);
  return {bytes.begin(), bytes.end()};
}

// Runs `check` on each instruction set that this machine has with AES.
void OnEveryAesTarget(const std::function<void(const std::string&)>& check) {
  OnEveryTarget([&](const std::string& target) {
    if (internal::HasAesInstructions()) check(target);
  });
}

TEST(KeyStream, EncryptsTheBlockOfFips197) {
  OnEveryAesTarget([](const std::string& target) {
    KeyStream key(Generator::kAes128Ctr, Unhex("000102030405060708090a0b0c0d0e0f"));
    EXPECT_EQ(HexEncode(BytesOf(key.Block(0x0011223344556677, 0x8899aabbccddeeff))),
              "69c4e0d86a7b0430d8cdb78070b4c55a")
        << target;
  });
}

// NIST SP 800-38A, F.5.1: its plaintext XOR its ciphertext is the key stream.
TEST(KeyStream, IsThatOfNist80038A) {
  const std::string plain = *HexDecode(
      "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
      "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
  OnEveryAesTarget([&](const std::string& target) {
    std::vector<uint64_t> words(8);
    KeyStream(Generator::kAes128Ctr, Unhex("2b7e151628aed2a6abf7158809cf4f3c"))
        .Words(0xf0f1f2f3f4f5f6f7, 0xf8f9fafbfcfdfeff, absl::MakeSpan(words));
    std::string encrypted = BytesOf(words);
    for (size_t i = 0; i < plain.size(); ++i) encrypted[i] ^= plain[i];
    EXPECT_EQ(HexEncode(encrypted),
              "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
              "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee")
        << target;
  });
}

// RFC 8439, section 2.3.2; its counter and nonce are 32 and 96 bits of what we split in halves.
TEST(KeyStream, IsTheChaCha20BlockOfRfc8439) {
  std::vector<uint8_t> key;
  for (uint8_t i = 0; i < 32; ++i) key.push_back(i);
  std::vector<uint64_t> words(8);
  KeyStream(Generator::kChaCha20, key)
      .Words(0x4a000000, 4 * uint64_t{0x0900000000000001}, absl::MakeSpan(words));
  EXPECT_EQ(HexEncode(BytesOf(words)),
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");
}

// What OpenSSL says of the same blocks, one encryption of the counter each.
std::vector<uint64_t> AesByOpenSsl(const std::vector<uint8_t>& key, uint64_t stream,
                                   uint64_t first_block, size_t count) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EXPECT_EQ(EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nullptr, key.data(), nullptr), 1);
  std::vector<uint64_t> words;
  for (uint64_t block = first_block; words.size() < count; ++block) {
    uint8_t bytes[16], encrypted[32];
    for (int i = 0; i < 8; ++i) {
      bytes[i] = static_cast<uint8_t>(stream >> (56 - 8 * i));
      bytes[8 + i] = static_cast<uint8_t>(block >> (56 - 8 * i));
    }
    int written = 0;
    EXPECT_EQ(EVP_EncryptUpdate(context, encrypted, &written, bytes, 16), 1);
    for (int half = 0; half < 2; ++half) {
      uint64_t word = 0;
      for (int i = 7; i >= 0; --i) word = word << 8 | encrypted[8 * half + i];
      words.push_back(word);
    }
  }
  EVP_CIPHER_CTX_free(context);
  words.resize(count);
  return words;
}

struct Request {
  std::vector<uint8_t> key;
  uint64_t stream, first_block;
  size_t count;
};

// Every length up to several of the widest steps, at addresses from anywhere in 64 bits, the last
// block and the wrap behind it among them.
std::vector<Request> Requests() {
  std::mt19937_64 random(1);
  std::vector<Request> requests;
  for (size_t count = 0; count <= 300; ++count) {
    Request& request = requests.emplace_back();
    for (int i = 0; i < 16; ++i) request.key.push_back(static_cast<uint8_t>(random()));
    request.stream = random() >> random() % 64;
    request.first_block = count % 5 == 0 ? 0 - random() % 64 : random() >> random() % 64;
    request.count = count;
  }
  requests.push_back({std::vector<uint8_t>(16, 3), 5, 6, 10'001});
  return requests;
}

using Kernel = std::function<void(const internal::AesRoundKeys&, const Request&, uint64_t*)>;

// Empty if the kernel gives OpenSSL's words, wherever they are put, and touches nothing else.
std::string FirstWrong(const Kernel& kernel) {
  constexpr uint64_t kGuard = 0x1234567890abcdef;
  for (const Request& request : Requests()) {
    std::array<uint8_t, 16> key;
    std::copy(request.key.begin(), request.key.end(), key.begin());
    const internal::AesRoundKeys keys(key);
    const size_t offset = request.count % 9;
    std::vector<uint64_t> got(offset + request.count + 9, kGuard), expected(got);
    const auto words =
        AesByOpenSsl(request.key, request.stream, request.first_block, request.count);
    std::copy(words.begin(), words.end(), expected.begin() + offset);
    kernel(keys, request, got.data() + offset);
    if (got != expected) return absl::StrCat(request.count, " words at ", request.first_block);
  }
  return "";
}

void Words(const internal::AesRoundKeys& keys, const Request& request, uint64_t* words) {
  internal::AesCounterWords(keys, request.stream, request.first_block, words, request.count);
}

TEST(AesKernels, AgreeWithOpenSslOnEveryTarget) {
  OnEveryAesTarget([](const std::string& target) { EXPECT_EQ(FirstWrong(Words), "") << target; });
}

// The comparison must see one word of one block.
TEST(AesKernels, OneWrongBlockIsNoticed) {
  if (!internal::HasAesInstructions()) GTEST_SKIP() << "no AES instructions";
  const auto wrong = [](const internal::AesRoundKeys& keys, const Request& request,
                        uint64_t* words) {
    Words(keys, request, words);
    if (request.count > 250) words[77] ^= 1;
  };
  EXPECT_THAT(FirstWrong(wrong), ::testing::StartsWith("251 words"));
}

TEST(AesKernels, WipeTheRoundKeys) {
  if (!internal::HasAesInstructions()) GTEST_SKIP() << "no AES instructions";
  using internal::AesRoundKeys;
  alignas(AesRoundKeys) unsigned char storage[sizeof(AesRoundKeys)];
  std::memset(storage, 0xff, sizeof(storage));
  std::array<uint8_t, 16> key;
  key.fill(9);
  auto* keys = new (storage) AesRoundKeys(key);
  const std::string last(reinterpret_cast<const char*>(keys->bytes()) + 160, 16);
  EXPECT_NE(last, std::string(16, '\0'));
  keys->~AesRoundKeys();
  for (const unsigned char byte : storage) ASSERT_EQ(byte, 0);
}

TEST(AesKernels, AreNotImitatedWhereTheProcessorHasNone) {
  const OnlyTargets only(kWithoutAes);
  EXPECT_FALSE(internal::HasAesInstructions());
  EXPECT_EQ(GeneratorOfThisMachine(), Generator::kChaCha20);
  EXPECT_DEATH(KeyStream(Generator::kAes128Ctr, std::vector<uint8_t>(16)),
               "this processor has no instructions for AES");
}

// Both generators, as far as this machine has them.
std::vector<Generator> Generators() {
  if (!internal::HasAesInstructions()) return {Generator::kChaCha20};
  return {Generator::kAes128Ctr, Generator::kChaCha20};
}

TEST(KeyStream, GivesTheSameWordsFromAnyStart) {
  for (const Generator generator : Generators()) {
    KeyStream key(generator, std::vector<uint8_t>(KeyBytes(generator), 1));
    std::vector<uint64_t> whole(1000);
    key.Words(3, 0, absl::MakeSpan(whole));
    for (const size_t block : {0, 1, 2, 3, 4, 7, 20, 33, 64}) {
      for (const size_t count : {1, 2, 3, 7, 8, 9, 64, 131, 800}) {
        std::vector<uint64_t> part(count);
        key.Words(3, block, absl::MakeSpan(part));
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 2 * block))
            << GeneratorName(generator) << ' ' << block << ' ' << count;
      }
    }
    EXPECT_EQ(key.Block(3, 20)[1], whole[41]);
  }
}

TEST(KeyStream, WordsOfALongRequestAreThoseOfShortOnes) {
  for (const Generator generator : Generators()) {
    KeyStream key(generator, std::vector<uint8_t>(KeyBytes(generator), 1));
    std::vector<uint64_t> words((1 << 20) + 6);
    key.Words(0, 0, absl::MakeSpan(words));
    EXPECT_EQ(words[(1 << 20) + 4], key.Block(0, (1 << 19) + 2)[0]) << GeneratorName(generator);
  }
}

TEST(KeyStream, StreamsAndKeysDiffer) {
  for (const Generator generator : Generators()) {
    std::vector<uint8_t> bytes(KeyBytes(generator), 1);
    KeyStream key(generator, bytes);
    EXPECT_NE(key.Block(0, 0), key.Block(1, 0));
    EXPECT_NE(key.Block(0, 0), key.Block(uint64_t{1} << 48, 0));
    bytes.back() ^= 0x80;
    EXPECT_NE(KeyStream(generator, bytes).Block(0, 0), key.Block(0, 0));
  }
}

TEST(KeyStream, CannotBeCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<KeyStream>);
  EXPECT_FALSE(std::is_copy_assignable_v<KeyStream>);
  EXPECT_FALSE(std::is_copy_constructible_v<internal::AesRoundKeys>);
  EXPECT_FALSE(std::is_move_constructible_v<internal::AesRoundKeys>);
}

TEST(KeyStream, RefusesAKeyOfTheWrongLength) {
  EXPECT_DEATH(KeyStream(Generator::kChaCha20, std::vector<uint8_t>(16)), "wrong length");
}

TEST(Generator, HasAName) {
  EXPECT_STREQ(GeneratorName(Generator::kAes128Ctr), "AES-128-CTR");
  EXPECT_STREQ(GeneratorName(Generator::kChaCha20), "ChaCha20");
}

}  // namespace
}  // namespace dpledger::client
