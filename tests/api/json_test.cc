// Tests of the JSON of events and headers.
#include "api/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "api/inspect.h"
#include "engine/memory_plan.h"
#include "gguf/gguf.h"
#include "make/gguf_builder.h"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one object a line";
  return json;
}

TEST(EventJson, TokenAsTheContractSays) {
  Event event;
  event.kind = Event::Kind::token;
  event.id = 42;
  event.text = "a \"quoted\"\n line";
  event.logprob = -0.1f;
  EXPECT_EQ(event_json(event, Stats()),
            R"({"event":"token","id":42,"text":"a \"quoted\"\n line","logprob":-0.1})");
  event.top = {{42, -0.1f}, {7, -2.5f}};
  const Json json = parsed(event_json(event, Stats()));
  EXPECT_EQ(json["top"], Json::parse("[[42,-0.1],[7,-2.5]]"));
}

TEST(EventJson, HostileTextAndNumbersAreStillJson) {
  Event event;
  event.kind = Event::Kind::token;
  event.text = std::string("\xff\xc3\x00\xed\xa0\x80 \xf0\x9f\x98", 10);
  event.logprob = -std::numeric_limits<float>::infinity();
  event.top = {{1, std::nanf("")}};
  const Json json = parsed(event_json(event, Stats()));
  EXPECT_TRUE(json["logprob"].is_null());
  EXPECT_TRUE(json["top"][0][1].is_null());
  EXPECT_NE(json["text"].get<std::string>().find("\xef\xbf\xbd"), std::string::npos);
}

// The bits of a float, as a reader of JSON in doubles gets it.
uint32_t bits(const Json& number) {
  return std::bit_cast<uint32_t>(static_cast<float>(number.get<double>()));
}

TEST(EventJson, RawLogitsComeLast) {
  Event event;
  event.kind = Event::Kind::token;
  event.id = 1;
  event.reasoning = true;
  event.raw =
      RawLogits{.log_sum = 10.5, .entropy = 0.1, .draws = UINT64_MAX, .best = {{7, 3}, {2, -0.1f}}};
  EXPECT_EQ(event_json(event, Stats()),
            R"({"event":"token","id":1,"text":"","logprob":0.0,"reasoning":true,)"
            R"("raw":{"logSum":10.5,"entropy":0.1,"draws":18446744073709551615,)"
            R"("best":[[7,3.0],[2,-0.1]]}})");
  event.raw = RawLogits{.best = {{1, -std::numeric_limits<float>::infinity()}}};
  EXPECT_TRUE(parsed(event_json(event, Stats()))["raw"]["best"][0][1].is_null());
  event.raw->best.clear();
  EXPECT_EQ(parsed(event_json(event, Stats()))["raw"]["best"], Json::array());
  event.kind = Event::Kind::working;
  EXPECT_EQ(event_json(event, Stats()), R"({"event":"working"})");
}

TEST(EventJson, RawLogitsReadBackToTheSameBits) {
  std::mt19937 random(1);
  Event event;
  event.kind = Event::Kind::token;
  event.raw.emplace();
  for (int i = 0; i < 20000; ++i) {
    // All exponents, and those that logits have.
    const auto any = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float usual = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-25f;
    for (const float value : {any, usual})
      if (std::isfinite(value)) event.raw->best.emplace_back(i, value);
  }
  for (const float value : {0.f, -0.f, 1.f, -1.f, 10.f, 99999.99f, 1e5f, 123456.f, 999999.94f, 1e6f,
                            1e-3f, 0x1p-149f, 0x1.fffffep127f, 0.000999999931f, 16777216.f})
    event.raw->best.emplace_back(-1, value);
  event.raw->log_sum = 1.0 / 3;
  event.raw->entropy = 0x1.23456789abcdep-7;
  const Json raw = parsed(event_json(event, Stats()))["raw"];
  ASSERT_EQ(raw["best"].size(), event.raw->best.size());
  for (size_t i = 0; i < event.raw->best.size(); ++i) {
    const float value = event.raw->best[i].second;
    EXPECT_EQ(bits(raw["best"][i][1]), std::bit_cast<uint32_t>(value)) << value;
  }
  EXPECT_EQ(raw["logSum"].get<double>(), event.raw->log_sum);
  EXPECT_EQ(raw["entropy"].get<double>(), event.raw->entropy);
}

TEST(EventJson, DoneCarriesTheStats) {
  Event event;
  event.kind = Event::Kind::done;
  event.finish = Finish::stop;
  Stats stats;
  stats.kernels = "generic";
  stats.threads = 2;
  stats.tokens = 9;
  stats.seed = UINT64_MAX;
  stats.load_ms = 1.23456;
  stats.reread_bytes = 7;
  const Json json = parsed(event_json(event, stats));
  EXPECT_EQ(json["event"], "done");
  EXPECT_EQ(json["finish"], "stop");
  EXPECT_EQ(json["stats"]["kernels"], "generic");
  EXPECT_EQ(json["stats"]["seed"].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["stats"]["loadMs"], 1.235);
  EXPECT_GT(json["stats"]["heapBytes"].get<uint64_t>(), 0u);
  for (const char* name :
       {"kernels", "threads", "decodeThreads", "contextSize", "loadMs", "ttftMs", "waitedMs",
        "promptTokens", "reusedTokens", "promptTokensPerSecond", "tokens", "tokensPerSecond",
        "residentBytes", "rereadBytes", "bytesPerToken", "heapBytes", "seed"}) {
    EXPECT_TRUE(json["stats"].contains(name)) << name;
  }
  // The name of before, for one version.
  EXPECT_EQ(json["stats"]["rereadBytes"], 7);
  EXPECT_EQ(json["stats"]["streamedBytes"], 7);
  EXPECT_EQ(json["stats"].size(), parsed(stats_json(stats)).size());
}

TEST(LogitsJson, IsTheBestOfAPositionWithTheirHash) {
  const std::vector<float> logits = {0, 1, 0.5f, -3};
  const Json json = parsed(logits_json(logits, 2, true));
  EXPECT_EQ(json["hash"], logits_hash(logits));
  EXPECT_EQ(json["top"].size(), 2u);
  EXPECT_EQ(json["top"][0][0], 1);
  EXPECT_EQ(static_cast<float>(json["top"][0][1].get<double>()), top_logprobs(logits, 2)[0].second);
  EXPECT_EQ(parsed(logits_json(logits, 2, false)), (Json{{"top", json["top"]}}));
}

TEST(LogitsJson, NumbersThatAreNoneAreNull) {
  const float nan = std::nanf("");
  for (const float odd : {nan, std::numeric_limits<float>::infinity()}) {
    const Json json = parsed(logits_json(std::vector<float>{odd, 1, odd, 2}, 4, true));
    bool has_null = false;
    for (const Json& pair : json["top"]) has_null = has_null || pair[1].is_null();
    EXPECT_TRUE(has_null) << json.dump();
  }
}

TEST(NotesJson, TellsCodesMessagesAudiencesAndFacts) {
  EXPECT_EQ(notes_json({}), "[]");
  EXPECT_EQ(notes_json({{NoteCode::no_bos_token, "a \"b\""}}),
            R"([{"code":"no_bos_token","message":"a \"b\"","audience":"user"}])");
  const Json notes = parsed(notes_json({{NoteCode::fewer_threads, "\xff", {{"threads", 1u}}},
                                        {NoteCode::tools_left_out, "", {{"family", "\xff"}}}}));
  EXPECT_EQ(notes[0]["message"], "\xef\xbf\xbd");
  EXPECT_EQ(notes[0]["facts"], Json({{"threads", 1u}}));
  EXPECT_EQ(notes[1]["audience"], "developer");
  EXPECT_EQ(notes[1]["facts"]["family"], "\xef\xbf\xbd");
}

TEST(EventJson, OtherEventsAndErrors) {
  Event event;
  EXPECT_EQ(event_json(event, Stats()), R"({"event":"working"})");
  event.kind = Event::Kind::waiting;
  EXPECT_EQ(event_json(event, Stats()), R"({"event":"waiting"})");
  EXPECT_EQ(error_json({Code::budget_too_small, "needs \"more\""}),
            R"({"event":"error","code":"budget_too_small","message":"needs \"more\""})");
  EXPECT_EQ(parsed(error_json({Code::bad_file, "\xff"}))["message"], "\xef\xbf\xbd");
  EXPECT_EQ(
      error_json({Code::context_full, "long", {{"tokens", 9u}, {"kind", "\xff"}}}),
      "{\"event\":\"error\",\"code\":\"context_full\",\"message\":\"long\",\"facts\":{\"tokens\":9,"
      "\"kind\":\"\xef\xbf\xbd\"}}");
}

Gguf header_of(const GgufBuilder& builder) {
  const std::string file = builder.build();
  auto header = parse_gguf(as_bytes(file), file.size());
  EXPECT_TRUE(header.has_value()) << header.error().message;
  return header ? std::move(*header) : Gguf();
}

TEST(InspectJson, SaysWhatTheHeaderSays) {
  GgufBuilder builder = tiny_model();
  builder.kv_string("general.name", "tiny").kv_f32("test.float", 0.1f).kv_bool("test.bool", true);
  const Gguf header = header_of(builder);
  const Json json = parsed(inspect_json(header, LoadOptions(), 0));
  EXPECT_EQ(json["architecture"], "llama");
  EXPECT_EQ(json["name"], "tiny");
  EXPECT_EQ(json["fileBytes"].get<uint64_t>(), header.file_bytes());
  EXPECT_EQ(json["layers"], 1);
  EXPECT_EQ(json["embedding"], 32);
  EXPECT_EQ(json["heads"], 2);
  EXPECT_EQ(json["headDim"], 16);
  EXPECT_EQ(json["vocab"], kTinyVocab);
  EXPECT_EQ(json["tokenizer"]["model"], "llama");
  EXPECT_EQ(json["tokenizer"]["tokens"], kTinyVocab);
  EXPECT_EQ(json["metadata"]["test.float"], 0.1);
  EXPECT_EQ(json["metadata"]["test.bool"], true);
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["count"], kTinyVocab);
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["first"].size(), 8u);
  EXPECT_EQ(json["metadata"].size(), header.metadata.size());
  EXPECT_EQ(json["tensors"].size(), header.tensors.size());
  uint64_t parameters = 0;
  uint64_t bytes = 0;
  for (const Json& tensor : json["tensors"]) {
    uint64_t elements = 1;
    for (const Json& extent : tensor["shape"]) elements *= extent.get<uint64_t>();
    parameters += elements;
    bytes += tensor["bytes"].get<uint64_t>();
  }
  EXPECT_EQ(json["parameters"].get<uint64_t>(), parameters);
  EXPECT_EQ(json["types"]["F32"]["bytes"].get<uint64_t>(), bytes);
  EXPECT_EQ(json["types"]["F32"]["tensors"], header.tensors.size());
}

TEST(InspectJson, MemoryAddsUpAndGrowsWithTheContext) {
  const Gguf header = header_of(tiny_model());
  LoadOptions options;
  options.context_size = 256;
  const Json small = parsed(inspect_json(header, options, 0))["memory"];
  options.context_size = 4096;
  const Json large = parsed(inspect_json(header, options, 0))["memory"];
  ASSERT_TRUE(small.is_object());
  EXPECT_EQ(small["contextSize"], 256);
  EXPECT_EQ(small["total"].get<uint64_t>(),
            small["weights"].get<uint64_t>() + small["kv"].get<uint64_t>() +
                small["activations"].get<uint64_t>() + small["constant"].get<uint64_t>());
  EXPECT_EQ(large["start"], large["weights"].get<uint64_t>() + large["constant"].get<uint64_t>());
  EXPECT_GT(large["kv"].get<uint64_t>(), small["kv"].get<uint64_t>());
}

TEST(InspectJson, NotesWhatAUserShouldKnow) {
  const Gguf header = header_of(tiny_model());
  LoadOptions options;
  options.context_size = 1 << 20;
  const Json notes = parsed(inspect_json(header, options, 0))["notes"];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0]["code"], "context_beyond_training");
  EXPECT_EQ(notes[0]["facts"]["contextSize"], 1048576);
  EXPECT_NE(notes[0]["message"].get<std::string>().find("context of 1048576 tokens"),
            std::string::npos);
  options.context_size = 1;
  EXPECT_EQ(parsed(inspect_json(header, options, 0))["notes"], Json::array());
}

TEST(InspectJson, GivesTheReasonWhereItCantRun) {
  const Json json = parsed(
      inspect_json(header_of(tiny_model().kv_string("general.architecture", "mamba")), {}, 0));
  EXPECT_EQ(json["supported"], false);
  EXPECT_EQ(json["error"]["code"], "unsupported_model");
  EXPECT_NE(json["error"]["message"].get<std::string>().find("mamba"), std::string::npos);
  EXPECT_EQ(json["error"]["facts"], Json({{"architecture", "mamba"}}));
  EXPECT_TRUE(json["memory"].is_null());
}

TEST(InspectJson, NotesSayWhatWasLeftOut) {
  EXPECT_EQ(parsed(inspect_json(header_of(tiny_model()), {}, 0))["notes"], Json::array());
  GgufBuilder file = tiny_model();
  file.kv_string("tokenizer.ggml.model", "gpt2")
      .kv_strings("tokenizer.ggml.tokens", tiny_bpe_tokens())
      .kv_strings("tokenizer.ggml.merges", {"qq zz"})
      .kv_string("tokenizer.ggml.pre", "gpt-2")
      .remove("tokenizer.ggml.token_type");
  const Json json = parsed(inspect_json(header_of(file), {}, 0));
  ASSERT_EQ(json["notes"].size(), 1u);
  EXPECT_EQ(json["notes"][0]["message"],
            "1 merge of the vocabulary names a token that it does not have: skipped");
  EXPECT_EQ(json["notes"][0]["facts"], Json({{"merges", 1}}));
  EXPECT_EQ(json["supported"], true) << json["error"];
}

TEST(InspectJson, HostileMetadataIsStillJson) {
  GgufBuilder builder;
  builder.kv_string("general.architecture", "\xff\xfe\"\\\n")
      .kv_string("general.name", std::string("\0\x1b[31m\xc3", 7))
      .kv_f32("nan", std::nanf(""))
      .kv_u64("large", UINT64_MAX)
      .kv_i32("negative", -5)
      .kv_strings("tokenizer.ggml.tokens", {"\xf0\x9f", "ok"})
      .kv_u32("tokenizer.ggml.model", 3);
  const Json json = parsed(inspect_json(header_of(builder), LoadOptions(), 0));
  EXPECT_EQ(json["supported"], false);
  EXPECT_TRUE(json["metadata"]["nan"].is_null());
  EXPECT_EQ(json["metadata"]["large"].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["metadata"]["negative"], -5);
  EXPECT_TRUE(json["tokenizer"]["model"].is_null());
  EXPECT_EQ(json["tokenizer"]["tokens"], 2);
  EXPECT_EQ(json["parameters"], 0);
}

}  // namespace
}  // namespace sluice
