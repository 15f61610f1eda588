// Every malformed file of hazards.cc must be refused with its code and words, by the parser and by
// the engine, whole and in pieces. Files that are only unusual must load.
#include "make/hazards.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "api/inspect.h"
#include "base/format.h"
#include "engine/memory_plan.h"
#include "gguf/gguf.h"
#include "make/gguf_builder.h"
#include "support/model_test.h"

namespace sluice {
namespace {

LoadOptions small_options() {
  LoadOptions options;
  options.threads = 1;
  options.context_size = 32;
  return options;
}

Result<std::unique_ptr<Engine>> load(std::string_view file, size_t piece, bool size_known) {
  SLUICE_ASSIGN(auto engine, Engine::create(small_options(), {size_known ? file.size() : 0}));
  Stream stream(*engine);
  for (size_t at = 0; at < file.size(); at += piece) {
    SLUICE_TRY(stream.push(as_bytes(file.substr(at, piece))));
  }
  SLUICE_TRY(stream.end());
  return engine;
}

Result<Gguf> parse_in_pieces(std::string_view file, size_t piece, bool size_known) {
  GgufParser parser;
  if (size_known) parser.set_file_size(file.size());
  for (size_t at = 0; at < file.size() && !parser.done(); at += piece) {
    SLUICE_TRY(parser.push(as_bytes(file.substr(at, piece))));
  }
  SLUICE_TRY(parser.finish());
  return parser.take();
}

// A message has the length of a sentence or two, and only harmless characters.
void expect_readable(const std::string& message) {
  EXPECT_GE(message.size(), 20u) << message;
  EXPECT_LE(message.size(), 400u) << message;
  EXPECT_EQ(printable(message, 1000), message);
}

TEST(Hazards, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  int telling = 0;
  for (const Hazard& hazard : all_hazards()) {
    EXPECT_TRUE(names.insert(hazard.name).second) << hazard.name;
    EXPECT_FALSE(hazard.says.empty()) << hazard.name;
    telling += hazard.telling;
  }
  EXPECT_GE(telling, 12);
}

TEST(Hazards, TheParserRefuses) {
  for (const Hazard& hazard : all_hazards()) {
    SCOPED_TRACE(hazard.name);
    const Result<Gguf> whole = parse_gguf(as_bytes(hazard.bytes), hazard.bytes.size());
    if (hazard.level == Hazard::Level::model) {
      EXPECT_TRUE(whole) << whole.error().message;
      continue;
    }
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().code, hazard.code) << whole.error().message;
    EXPECT_NE(whole.error().message.find(hazard.says), std::string::npos)
        << whole.error().message << "\nlacks: " << hazard.says;
    expect_readable(whole.error().message);
    for (const size_t piece : {1, 7, 65536}) {
      const Result<Gguf> parts = parse_in_pieces(hazard.bytes, piece, true);
      ASSERT_FALSE(parts);
      EXPECT_EQ(parts.error().message, whole.error().message);
    }
    if (hazard.level == Hazard::Level::header) {
      const Result<Gguf> unsized = parse_in_pieces(hazard.bytes, 7, false);
      ASSERT_FALSE(unsized);
      EXPECT_EQ(unsized.error().code, hazard.code) << unsized.error().message;
      expect_readable(unsized.error().message);
    }
  }
}

TEST(Hazards, TheEngineRefuses) {
  for (const Hazard& hazard : all_hazards()) {
    SCOPED_TRACE(hazard.name);
    const auto sized = load(hazard.bytes, 65536, true);
    ASSERT_FALSE(sized);
    EXPECT_EQ(sized.error().code, hazard.code) << sized.error().message;
    EXPECT_NE(sized.error().message.find(hazard.says), std::string::npos)
        << sized.error().message << "\nlacks: " << hazard.says;
    expect_readable(sized.error().message);
    for (const size_t piece : {7, 65536}) {
      const auto unsized = load(hazard.bytes, piece, false);
      ASSERT_FALSE(unsized);
      EXPECT_EQ(unsized.error().code, hazard.code) << unsized.error().message;
    }
  }
}

TEST(Hazards, FilesOnDiskAreRefusedAlike) {
  for (const Hazard& hazard : all_hazards()) {
    SCOPED_TRACE(hazard.name);
    const TemporaryFile file(hazard.bytes);
    const auto engine = open_ready(file.path(), small_options());
    ASSERT_FALSE(engine);
    EXPECT_EQ(engine.error().code, hazard.code) << engine.error().message;
    EXPECT_NE(engine.error().message.find(hazard.says), std::string::npos)
        << engine.error().message << "\nlacks: " << hazard.says;
  }
}

// A header can be shown although its model can't run.
TEST(Hazards, HeadersOfUnusableModelsAreShown) {
  for (const Hazard& hazard : all_hazards()) {
    if (hazard.level != Hazard::Level::model) continue;
    SCOPED_TRACE(hazard.name);
    const Result<Gguf> gguf = parse_gguf(as_bytes(hazard.bytes), hazard.bytes.size());
    ASSERT_TRUE(gguf);
    const std::string json = inspect_json(*gguf, small_options(), hazard.bytes.size());
    EXPECT_TRUE(json.starts_with("{") && json.ends_with("}")) << json;
  }
}

TEST(Hazards, OdditiesLoadAndRun) {
  std::string expected_hash;
  for (const Oddity& oddity : harmless_oddities()) {
    SCOPED_TRACE(oddity.name);
    for (const size_t piece : {1, 7, 65536}) {
      auto engine = load(oddity.bytes, piece, piece == 7);
      ASSERT_TRUE(engine) << engine.error().message;
      ASSERT_TRUE((*engine)->loaded());
      const TokenId prompt[] = {1, 260, 261, 262};
      ASSERT_TRUE((*engine)->session().start_logits(prompt, 0));
      const auto finish = drive((*engine)->session(), [](const Event&) {});
      ASSERT_TRUE(finish) << finish.error().message;
      // All of them are the same model.
      const std::string hash = logits_hash((*engine)->session().logits());
      if (expected_hash.empty()) expected_hash = hash;
      EXPECT_EQ(hash, expected_hash);
    }
  }
}

TEST(Hazards, TruncationAtEveryByte) {
  const std::string file = tiny_model().build();
  const size_t header = tiny_model().header().size();
  const auto expect_bad_file = [](const auto& result, size_t length) {
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error().code, Code::bad_file) << length;
  };
  for (size_t length = 0; length < header; ++length) {
    const std::string_view part = std::string_view(file).substr(0, length);
    expect_bad_file(parse_gguf(as_bytes(part)), length);
    expect_bad_file(parse_gguf(as_bytes(part), length), length);
    expect_bad_file(parse_gguf(as_bytes(part), file.size()), length);
  }
  // If data is missing, the parser sees it by the file's size, the engine at the end of the file.
  for (size_t length = header; length < file.size(); length += 101) {
    const std::string_view part = std::string_view(file).substr(0, length);
    expect_bad_file(parse_gguf(as_bytes(part), length), length);
    expect_bad_file(load(part, 65536, false), length);
  }
  for (size_t length = file.size() - 40; length < file.size(); ++length) {
    expect_bad_file(load(std::string_view(file).substr(0, length), 4096, false), length);
  }
}

// With any one byte of the header changed, the file is parsed or refused.
TEST(Hazards, AnyByteOfTheHeaderChanged) {
  const std::string file = tiny_model().build();
  const size_t header = tiny_model().header().size();
  for (size_t at = 0; at < header; ++at) {
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const Result<Gguf> gguf = parse_gguf(as_bytes(changed), changed.size());
      if (gguf) {
        EXPECT_LE(gguf->file_bytes(), changed.size());
      } else {
        EXPECT_EQ(printable(gguf.error().message, 1000), gguf.error().message);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
