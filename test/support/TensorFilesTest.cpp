// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npy and .safetensors: round trips, what numpy writes, and hostile files.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>

#include "support/NpyFile.h"
#include "support/SafetensorsFile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

namespace fs = std::filesystem;

class TensorFiles : public testing::Test {
protected:
  TensorFiles()
      : folder(fs::temp_directory_path() /
               ("kernelc-files-" + std::to_string(::getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder);
  }
  ~TensorFiles() override { fs::remove_all(folder); }
  std::string path(const std::string &name) { return (folder / name).string(); }
  std::string put(const std::string &name, const std::string &bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string get(const std::string &name) {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path folder;
};

std::string npy(const std::string &header, const std::string &data, int major = 1) {
  std::string s("\x93NUMPY", 6);
  s += {char(major), 0, char(header.size()), char(header.size() >> 8)};
  if (major > 1)
    s += {char(header.size() >> 16), char(header.size() >> 24)};
  return s + header + data;
}

std::string safetensors(const std::string &header, const std::string &data) {
  std::string s(8, 0);
  uint64_t n = header.size();
  std::memcpy(s.data(), &n, 8);
  return s + header + data;
}

std::vector<uint8_t> pattern(size_t n) {
  std::vector<uint8_t> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = uint8_t(i * 37 + 11);
  return v;
}

TEST_F(TensorFiles, EveryTypeRoundTripsThroughBothFormats) {
  for (int i = 0; i < kNumElementTypes; ++i) {
    ElementType t = ElementType(i);
    for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {5}, {3, 4}, {2, 0, 3}}) {
      auto bytes = pattern(256);
      if (t == ElementType::boolean)
        for (auto &b : bytes)
          b &= 1;
      TensorView v{bytes.data(), t, shape, denseStrides(shape)};
      ASSERT_TRUE(writeNpy(path("t.npy"), v).ok());
      ASSERT_TRUE(writeSafetensors(path("t.safetensors"), {{"t", v}, {"\"a\\\n\xc3\xa9", v}}).ok());
      auto file = SafetensorsFile::open(path("t.safetensors"));
      ASSERT_TRUE(file.ok()) << file.status();
      absl::StatusOr<OwnedTensor> read[] = {readNpy(path("t.npy"), t), file->read("t", t), file->read("\"a\\\n\xc3\xa9", t)};
      for (auto &back : read) {
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_EQ(back->type, t);
        EXPECT_EQ(back->shape, shape);
        size_t bits = size_t(v.numElements()) * size_t(elementBits(t));
        EXPECT_EQ(std::memcmp(back->data.get(), bytes.data(), bits / 8), 0) << elementTypeName(t);
        if (bits % 8)
          EXPECT_EQ(back->data[bits / 8] & 15, bytes[bits / 8] & 15);
      }
    }
  }
}

TEST_F(TensorFiles, StridedViewsAreWrittenDense) {
  std::vector<float> x = {0, 1, 2, 3, 4, 5};
  TensorView transposed{x.data() + 2, ElementType::f32, {3, 2}, {-1, 3}};
  ASSERT_TRUE(writeNpy(path("t.npy"), transposed).ok());
  auto back = readNpy(path("t.npy"));
  ASSERT_TRUE(back.ok()) << back.status();
  float want[] = {2, 5, 1, 4, 0, 3};
  EXPECT_EQ(std::memcmp(back->data.get(), want, sizeof want), 0);
}

TEST_F(TensorFiles, ReadsWhatNumpyWrites) {
  std::string two("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);
  for (const char *h :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "{'shape':(2,),'fortran_order':False,'descr':\"<f4\"}  \n"}) {
    auto t = readNpy(put("a.npy", npy(h, two)));
    ASSERT_TRUE(t.ok()) << t.status();
    EXPECT_EQ(reinterpret_cast<float *>(t->data.get())[1], 2.0f);
  }
  auto big =
      readNpy(put("b.npy", npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", std::string("\0\1\0\2\0\3\0\4", 8), 2)));
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_EQ(reinterpret_cast<int16_t *>(big->data.get())[3], 4);
  EXPECT_EQ(big->strides, (std::vector<int64_t>{1, 2}));
  auto v2 = put("c.npy", npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3f"));
  EXPECT_EQ(readNpy(v2)->type, ElementType::bf16);
  auto u2 = put("d.npy", npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3f"));
  EXPECT_EQ(readNpy(u2, ElementType::bf16)->type, ElementType::bf16);
  EXPECT_FALSE(readNpy(u2, ElementType::f32).ok());
  auto v1 = put("e.npy", npy("{'descr': '|V1', 'fortran_order': False, 'shape': (1,), }", "\x3f"));
  EXPECT_FALSE(readNpy(v1).ok());
  EXPECT_EQ(readNpy(v1, ElementType::f8e5m2)->type, ElementType::f8e5m2);
  auto f1 = put("f1.npy", npy("{'descr': '<f1', 'fortran_order': False, 'shape': (1,), }", "\x3f"));
  EXPECT_EQ(readNpy(f1, ElementType::f8e5m2)->type, ElementType::f8e5m2);
  EXPECT_THAT(std::string(readNpy(f1, ElementType::f8e4m3).status().message()),
              testing::HasSubstr("expected f8e4m3, '" + f1 + "' holds '<f1' (f8e5m2)"));
  for (const char *descr : {"<c8", "|O", "<U3"}) {
    auto other = readNpy(put("g.npy", npy(std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (1,), }", "x")));
    EXPECT_THAT(std::string(other.status().message()), testing::HasSubstr(std::string("element type '") + descr + "' is not one of"));
  }
  auto i1 = put("f.npy", npy("{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }", "\xff\x07\xf8"));
  auto packed = readNpy(i1, ElementType::i4);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->data[0], 0x7f);
  EXPECT_EQ(packed->data[1], 0x08);
  EXPECT_FALSE(readNpy(i1, ElementType::u4).ok());
}

// Which element types a file of each spelling is read as. Everything else is refused.
const std::pair<const char *, std::vector<ElementType>> kReadable[] = {
    {"|b1", {ElementType::boolean}},
    {"|i1", {ElementType::i8, ElementType::i4}},
    {"<i2", {ElementType::i16}},
    {">i2", {ElementType::i16}},
    {"<i4", {ElementType::i32}},
    {">i4", {ElementType::i32}},
    {"=i4", {ElementType::i32}},
    {"<i8", {ElementType::i64}},
    {">i8", {ElementType::i64}},
    {"|u1", {ElementType::u8, ElementType::u4, ElementType::f8e4m3, ElementType::f8e5m2}},
    {"<u2", {ElementType::u16, ElementType::bf16}},
    {">u2", {ElementType::u16, ElementType::bf16}},
    {"<u4", {ElementType::u32}},
    {">u4", {ElementType::u32}},
    {"<u8", {ElementType::u64}},
    {">u8", {ElementType::u64}},
    {"<f1", {ElementType::f8e5m2}},
    {"<f2", {ElementType::f16}},
    {">f2", {ElementType::f16}},
    {"<f4", {ElementType::f32}},
    {">f4", {ElementType::f32}},
    {"<f8", {ElementType::f64}},
    {">f8", {ElementType::f64}},
    {"|V1", {ElementType::f8e4m3, ElementType::f8e5m2, ElementType::i4, ElementType::u4}},
    {"<V1", {ElementType::f8e4m3, ElementType::f8e5m2, ElementType::i4, ElementType::u4}},
    {"|V2", {ElementType::bf16}},
    {"<V2", {ElementType::bf16}},
    {"|V4", {}},
    {"<f3", {}},
    {"<c8", {}},
    {"<f16", {}},
    {"<b2", {}},
    {"|S4", {}},
    {"<U3", {}},
    {"|O", {}},
    {"<M8[ns]", {}},
    {"<m8[s]", {}}};

/// The bytes of element `i` of `t`, without strides of its own; a nibble as a byte.
std::string elementAt(const OwnedTensor &t, int64_t i) {
  if (elementBits(t.type) == 4)
    return std::string(1, char(t.data[size_t(i / 2)] >> (i % 2 ? 4 : 0) & 15));
  size_t bytes = size_t(elementBits(t.type)) / 8;
  return std::string(reinterpret_cast<const char *>(t.data.get()) + size_t(i) * bytes, bytes);
}

TEST_F(TensorFiles, NpyOfEverySpellingForEveryTypeIsReadAsItselfOrRefused) {
  for (const auto &[descr, readable] : kReadable) {
    std::string spelled = descr;
    size_t width = spelled[1] == 'O' ? 8 : spelled[1] == 'U' ? 12 : spelled == "<f16" ? 16 : size_t(spelled[2] - '0');
    std::string data;
    for (size_t i = 0; i < 6 * width; ++i)
      data += char(0x2b5a63 >> (i % 23) & 1); // 0 and 1: what bool and nibbles have, too
    for (bool fortran : {false, true}) {
      std::string file =
          put("t.npy", npy("{'descr': '" + spelled + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (2, 3), }", data));
      for (int i = 0; i < kNumElementTypes; ++i) {
        ElementType wanted = ElementType(i);
        SCOPED_TRACE(testing::Message() << spelled << " for " << elementTypeName(wanted) << (fortran ? " in Fortran order" : ""));
        auto read = readNpy(file, wanted);
        if (std::find(readable.begin(), readable.end(), wanted) == readable.end()) {
          EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
          EXPECT_THAT(
              std::string(read.status().message()),
              testing::AllOf(testing::HasSubstr("expected " + std::string(elementTypeName(wanted)) + ", '" + file + "' holds '" + spelled),
                             testing::HasSubstr("x.astype(")));
          continue;
        }
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(read->type, wanted);
        for (int64_t row = 0; row < 2; ++row)
          for (int64_t column = 0; column < 3; ++column) {
            int64_t stored = fortran ? row + 2 * column : 3 * row + column;
            std::string element = data.substr(size_t(stored) * width, width);
            if (spelled[0] == '>')
              std::reverse(element.begin(), element.end());
            EXPECT_EQ(elementAt(*read, row * read->strides[0] + column * read->strides[1]), element);
          }
      }
    }
  }
}

TEST_F(TensorFiles, NpyElementsThatDoNotFitAreNamed) {
  auto message = [&](const char *descr, const char *bytes, ElementType wanted) {
    std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (2,), }";
    auto read = readNpy(put("t.npy", npy(header, std::string(bytes, 2))), wanted);
    return read.ok() ? std::string("bits ") + elementAt(*read, 0) + elementAt(*read, 1) : std::string(read.status().message());
  };
  using testing::EndsWith;
  EXPECT_THAT(message("|b1", "\1\2", ElementType::boolean), EndsWith("the byte 2 is no bool, which is 0 or 1"));
  EXPECT_THAT(message("|i1", "\7\10", ElementType::i4), EndsWith("the value 8 does not fit in i4"));
  EXPECT_THAT(message("|i1", "\xf8\xf7", ElementType::i4), EndsWith("the value -9 does not fit in i4"));
  EXPECT_EQ(message("|i1", "\xf8\xff", ElementType::i4), "bits \x08\x0f");
  EXPECT_THAT(message("|u1", "\17\20", ElementType::u4), EndsWith("the value 16 does not fit in u4"));
  EXPECT_EQ(message("|V1", "\x0f\x08", ElementType::i4), "bits \x0f\x08"); // as ml_dtypes writes -1 and -8
  EXPECT_EQ(message("|V1", "\xff\x07", ElementType::i4), "bits \x0f\x07");
  EXPECT_THAT(message("|V1", "\0\x7f", ElementType::i4), EndsWith("the value 127 does not fit in i4"));
  auto fields = readNpy(put("s.npy", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", std::string(8, 'x'))),
                        ElementType::f32);
  EXPECT_THAT(std::string(fields.status().message()),
              EndsWith("its elements are structures; save one field as an array of its own, as with x['field']"));
}

TEST_F(TensorFiles, SafetensorsOfEveryTypeForEveryTypeAreReadAsThemselvesOrRefused) {
  std::vector<uint8_t> zeros(64);
  for (int i = 0; i < kNumElementTypes; ++i) {
    ElementType stored = ElementType(i);
    ASSERT_TRUE(writeSafetensors(path("t.st"), {{"x", {zeros.data(), stored, {4}, {1}}}}).ok());
    auto file = SafetensorsFile::open(path("t.st"));
    ASSERT_TRUE(file.ok()) << file.status();
    for (int j = 0; j < kNumElementTypes; ++j) {
      ElementType wanted = ElementType(j);
      auto byte = [](ElementType t) { return t == ElementType::i4 ? ElementType::i8 : t == ElementType::u4 ? ElementType::u8 : t; };
      auto read = file->read("x", wanted);
      EXPECT_EQ(read.ok(), byte(stored) == byte(wanted)) << elementTypeName(stored) << " for " << elementTypeName(wanted) << read.status();
      if (read.ok())
        EXPECT_EQ(read->type, wanted);
      else
        EXPECT_THAT(std::string(read.status().message()),
                    testing::HasSubstr("tensor 'x': expected " + std::string(elementTypeName(wanted)) + ", '"));
    }
  }
}

TEST_F(TensorFiles, HostileNpyHeadersAreErrors) {
  std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  std::string data(8, 'x');
  ASSERT_TRUE(readNpy(put("g.npy", npy(good, data))).ok());
  EXPECT_EQ(readNpy(path("missing.npy")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(readNpy(folder.string()).ok());
  for (std::string h :
       {"", "{}", "{'descr': '<f4'}", "{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f99', 'fortran_order': False, 'shape': (2,)}", "{'descr': '|O8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,"})
    EXPECT_EQ(readNpy(put("h.npy", npy(h, data))).status().code(), absl::StatusCode::kInvalidArgument) << h;
  EXPECT_FALSE(readNpy(put("h.npy", npy(good, data, 4))).ok());
  // Every truncation, and every byte of the header set to odd values.
  std::string whole = npy(good, data);
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(readNpy(put("h.npy", whole.substr(0, n))).ok()) << n;
  for (size_t i = 0; i < whole.size() - data.size(); ++i)
    for (char c : {'\0', '\xff', '(', '\'', '9'}) {
      std::string s = whole;
      s[i] = c;
      (void)readNpy(put("h.npy", s)); // must not crash; asan and ubsan look on
    }
}

TEST_F(TensorFiles, TensorsOfUnknownTypesLeaveTheOthersReadable) {
  std::string header =
      R"({"scale":{"dtype":"F8_E8M0","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})";
  auto file = SafetensorsFile::open(put("u.st", safetensors(header, std::string("\1\2\3\4\5"))));
  ASSERT_TRUE(file.ok()) << file.status();
  auto w = file->read("w", ElementType::u8);
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_EQ(static_cast<const uint8_t *>(w->data.get())[1], 5);
  EXPECT_THAT(
      file->read("scale", ElementType::f32).status().message(),
      testing::HasSubstr("tensor 'scale': '" + path("u.st") + "' holds F8_E8M0, which is no element type of kernelc; save it as F32"));
  EXPECT_FALSE(file->read("scale").ok());
}

TEST_F(TensorFiles, HostileSafetensorsAreErrors) {
  std::string good =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  std::string data(9, 'x');
  auto file = SafetensorsFile::open(put("g.st", safetensors(good, data)));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->read("c").status().code(), absl::StatusCode::kNotFound);
  auto entry = [](const std::string &body) { return R"({"a":{)" + body + "}}"; };
  for (std::string h :
       {std::string(""),
        std::string("[]"),
        std::string("{"),
        std::string("{}"),
        good.substr(0, good.size() - 1),
        good + "}",
        std::string(R"({"a":1})"),
        entry(R"("dtype":"F32","shape":[2])"),
        entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,9])"),
        entry(R"("dtype":33,"shape":[9],"data_offsets":[0,9])"),
        entry(R"("dtype":"U8","shape":[-9],"data_offsets":[0,9])"),
        entry(R"("dtype":"U8","shape":[9.0],"data_offsets":[0,9])"),
        entry(R"("dtype":"U8","shape":[9],"data_offsets":[9,0])"),
        entry(R"("dtype":"U8","shape":[9],"data_offsets":[1,10])"),
        entry(R"("dtype":"U8","shape":[8],"data_offsets":[0,8])"),
        entry(R"("dtype":"U8","shape":[8],"data_offsets":[1,9])"),
        entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,9])"),
        entry(R"("dtype":"U8","shape":[9],"data_offsets":[0,99999999999999999999])"),
        std::string(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})"),
        std::string(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},"b":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})"),
        std::string(R"({"__metadata__":{"k":1},"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})"),
        std::string(5000, '['),
        std::string("{\"\xff\":1}")})
    EXPECT_EQ(SafetensorsFile::open(put("h.st", safetensors(h, data))).status().code(), absl::StatusCode::kInvalidArgument) << h;
  std::string whole = safetensors(good, data);
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(SafetensorsFile::open(put("h.st", whole.substr(0, n))).ok()) << n;
  std::string huge = whole;
  huge[6] = char(0xff);
  EXPECT_FALSE(SafetensorsFile::open(put("h.st", huge)).ok());
}

TEST_F(TensorFiles, AFailedWriteLeavesTheOldFile) {
  std::vector<float> x(100000, 1.0f);
  TensorView small{x.data(), ElementType::f32, {4}, {1}}, large{x.data(), ElementType::f32, {100000}, {1}};
  ASSERT_TRUE(writeNpy(path("t.npy"), small).ok());
  std::string before = get("t.npy");
  // A file size limit stands in for a full disk.
  rlimit old, limit;
  getrlimit(RLIMIT_FSIZE, &old);
  limit = old;
  limit.rlim_cur = 4096;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  absl::Status s = writeNpy(path("t.npy"), large), s2 = writeSafetensors(path("t.npy"), {{"x", large}});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(s.ok());
  EXPECT_FALSE(s2.ok());
  EXPECT_EQ(get("t.npy"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_FALSE(writeNpy(path("no/such/folder/t.npy"), small).ok());
}

} // namespace
} // namespace kernelc
