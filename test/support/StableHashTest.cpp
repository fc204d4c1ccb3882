// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SHA-256 against the examples of FIPS 180-4, and the framing of fields.
#include "support/StableHash.h"

#include <gtest/gtest.h>

namespace kernelc {
namespace {

TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(toHex(Sha256::of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(Sha256::of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(Sha256::of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(toHex(Sha256::of(std::string(1000000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesAreAsOne) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += char(i * 7);
  for (size_t length = 0; length <= text.size(); ++length)
    for (size_t cut : {size_t(0), size_t(1), length / 2, length}) {
      if (cut > length)
        continue;
      absl::string_view t(text.data(), length);
      ASSERT_EQ(Sha256().update(t.substr(0, cut)).update(t.substr(cut)).finish(), Sha256::of(t)) << length << " " << cut;
    }
}

TEST(StableHash, FieldsAreFramed) {
  EXPECT_NE(StableHash().add("ab").add("c").hex(), StableHash().add("a").add("bc").hex());
  EXPECT_NE(StableHash().add("").hex(), StableHash().hex());
  EXPECT_NE(StableHash().add(int64_t(1)).hex(), StableHash().add(int64_t(2)).hex());
  EXPECT_EQ(StableHash().add("x").add(int64_t(-1)).hex(), StableHash().add("x").add(int64_t(-1)).hex());
}

} // namespace
} // namespace kernelc
