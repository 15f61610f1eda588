// Tests of replies to chats: what of them is reasoning, what ends them, how long prompts are made
// to fit, and which tokens are used again.
#include <random>

#include "base/format.h"
#include "chat/reuse.h"
#include "make/byte_vocabulary.h"
#include "reply/reasoning_split.h"
#include "reply/reply_prompt.h"
#include "support/engine_fixture.h"

namespace sluice {
namespace {

using Ids = std::vector<TokenId>;
using Strings = std::vector<std::string>;

// --- what of a reply is reasoning ----------------------------------------------------------------

ReplyFormat think_format(bool begins_thinking = false, bool anywhere = false) {
  ReplyFormat format;
  format.think_begin = "<think>";
  format.think_end = "</think>";
  format.think_close = "\n</think>\n\n";
  format.begins_thinking = begins_thinking;
  format.begins_anywhere = anywhere;
  return format;
}

struct Parts {
  std::string reasoning, content;
  bool operator==(const Parts&) const = default;
};

void PrintTo(const Parts& parts, std::ostream* out) {
  *out << "reasoning '" << parts.reasoning << "' content '" << parts.content << "'";
}

// Each piece must give one text.
Parts split(const ReplyFormat& format, const Strings& pieces) {
  ReasoningSplit splitter(format);
  std::vector<ReplyText> out;
  for (const std::string& piece : pieces) splitter.push(piece, "", out);
  splitter.flush(out);
  EXPECT_EQ(out.size(), pieces.size());
  Parts parts;
  for (const ReplyText& each : out) (each.reasoning ? parts.reasoning : parts.content) += each.text;
  return parts;
}

TEST(Reasoning, IsTheSameHoweverTheTextIsCutIntoTokens) {
  struct Case {
    bool begins_thinking, anywhere;
    std::string text;
    Parts parts;
  };
  const Case cases[] = {
      {false, false, "<think>\nI see.\n\n</think>\n\nYes.\n", {"I see.", "Yes.\n"}},
      {false, false, "\n <think>a < b </thin </think>c", {"a < b </thin", "c"}},
      {false, false, "<think></think>x", {"", "x"}},
      {false, false, "<think>never ends </th", {"never ends </th", ""}},
      {false, false, "<thinking is hard", {"", "<thinking is hard"}},
      {false, false, "A <think>b</think> c", {"", "A <think>b</think> c"}},
      {false, false, " plain", {"", " plain"}},
      {false, false, "", {"", ""}},
      {true, false, "\nwell\n</think>\n\nYes </think> no", {"well", "Yes </think> no"}},
      {true, false, "all of it\n", {"all of it\n", ""}},
      {false, true, "A <think>b</think> c <think> d </think>e", {"bd", "Ac e"}},
  };
  std::mt19937 random(1);
  for (const Case& each : cases) {
    for (int trial = 0; trial < 200; ++trial) {
      Strings pieces;
      for (size_t at = 0; at < each.text.size();) {
        // No piece has a whole mark, as those that are no tokens of their own.
        const size_t n = 1 + random() % 5;
        pieces.push_back(each.text.substr(at, n));
        at += n;
      }
      Parts parts = split(think_format(each.begins_thinking, each.anywhere), pieces);
      // Where reasoning begins in the middle, the spaces between the contents may stay.
      if (each.anywhere) std::erase(parts.content, ' ');
      Parts expected = each.parts;
      if (each.anywhere) std::erase(expected.content, ' ');
      ASSERT_EQ(parts, expected) << each.text;
    }
  }
}

TEST(Reasoning, MarksMayBeTokens) {
  ReplyFormat format = think_format();
  ReasoningSplit splitter(format);
  std::vector<ReplyText> out;
  // Control tokens have no text, user-defined ones have.
  splitter.push("", "<think>", out);
  EXPECT_TRUE(splitter.thinking());
  splitter.push("a", "", out);
  splitter.push("</think>", "", out);
  EXPECT_FALSE(splitter.thinking());
  splitter.push("b", "", out);
  ASSERT_EQ(out.size(), 4u);
  const ReplyText expected[] = {{"", true}, {"a", true}, {"", true}, {"b", false}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(out[i].text, expected[i].text) << i;
    EXPECT_EQ(out[i].reasoning, expected[i].reasoning) << i;
  }
}

// --- sessions ------------------------------------------------------------------------------------

// The id of each byte of a text, in the tiny model's vocabulary.
Ids ids_of(const Engine& engine, std::string_view text) {
  return engine.tokenizer().encode(text, true);
}

Generated reply(Session& session, const Ids& prompt, const GenerateOptions& options,
                const ReplyFormat& format, int64_t thinking_tokens = -1) {
  const Status started = session.start_reply(prompt, options, format, thinking_tokens);
  EXPECT_TRUE(started) << started.error().message;
  return finish_run(session);
}

TEST(Reply, EndsAtTheTokensOfItsFormat) {
  const auto engine = tiny_engine();
  Session session(*engine);
  const Ids prompt = ids_of(*engine, "abc");
  const Ids written = reply(session, prompt, greedy(20), {}).ids();
  ASSERT_EQ(written.size(), 20u);
  ReplyFormat format;
  format.end_tokens = {written[7]};
  GenerateOptions options = greedy(20);
  options.ignore_eos = false;
  const Generated ended = reply(session, prompt, options, format);
  EXPECT_EQ(ended.finish, Finish::eos);
  const auto first = std::ranges::find(written, written[7]) - written.begin();
  EXPECT_EQ(ended.ids(), Ids(written.begin(), written.begin() + first));
}

TEST(Reply, ReasoningIsEndedAfterItsTokens) {
  const auto engine = tiny_engine();
  const Ids prompt = ids_of(*engine, "abc");
  const ReplyFormat format = think_format(true);
  const Ids close = ids_of(*engine, format.think_close);
  for (const int64_t most : {0, 1, 5}) {
    Session session(*engine);
    const Generated got = reply(session, prompt, greedy(30), format, most);
    ASSERT_EQ(got.tokens.size(), 30u);
    const auto at = got.tokens.begin() + most;
    for (size_t i = 0; i < close.size(); ++i) EXPECT_EQ(at[static_cast<ptrdiff_t>(i)].id, close[i]);
    for (size_t i = 0; i < 30; ++i) {
      const bool behind = i >= static_cast<size_t>(most) + close.size();
      EXPECT_FALSE(behind && got.tokens[i].reasoning) << i;
      // The line ends behind the mark have no text.
      EXPECT_TRUE(behind || got.tokens[i].reasoning || got.tokens[i].text.empty()) << i;
    }
    EXPECT_GE(session.stats().reasoning_tokens, most);
    EXPECT_LE(session.stats().reasoning_tokens, most + static_cast<int64_t>(close.size()));
    // What was forced_tokens is computed as any other token.
    Session other(*engine);
    const Ids ids = got.ids();
    Ids all = prompt;
    all.insert(all.end(), ids.begin(), ids.end() - 1);
    EXPECT_EQ(generate(other, std::span<const TokenId>(all), greedy(1)).ids()[0], ids.back());
  }
  Session session(*engine);
  const Generated free = reply(session, prompt, greedy(30), format);
  for (const Event& event : free.tokens) EXPECT_TRUE(event.reasoning);
}

TEST(Reply, StopTextsInReasoningAreNone) {
  const auto engine = tiny_engine();
  Session session(*engine);
  const Ids prompt = ids_of(*engine, "abc");
  const Generated whole = reply(session, prompt, greedy(20), {});
  size_t at = 3;
  while (at < 19 && whole.tokens[at].text.empty()) ++at;
  GenerateOptions options = greedy(20);
  options.stop = {whole.tokens[at].text};
  EXPECT_EQ(reply(session, prompt, options, {}).finish, Finish::stop);
  EXPECT_EQ(reply(session, prompt, options, think_format(true)).finish, Finish::length);
}

// --- formats -------------------------------------------------------------------------------------

struct Rig {
  Rig(const Strings& control, const std::string& source, const std::string& name = "",
      const std::string& pre = "default") {
    GgufBuilder file = byte_vocabulary(control, {}, {"ab"}, {"a b"});
    file.kv_bool("tokenizer.ggml.add_bos_token", false).kv_string("tokenizer.ggml.pre", pre);
    if (!source.empty()) file.kv_string("tokenizer.chat_template", source);
    if (!name.empty()) file.kv_string("general.name", name);
    header = *parse_gguf(as_bytes(file.header()));
    tokenizer = *Tokenizer::from_gguf(header);
  }
  Result<ReplyPrompt> reply(std::string_view messages, size_t most_tokens = 0,
                            std::optional<bool> thinking = {}) const {
    ChatRequest request;
    request.messages = messages;
    request.most_tokens = most_tokens;
    request.thinking = thinking;
    return make_reply_prompt({&header, &*tokenizer}, request);
  }
  Result<ChatPrompt> prompt(std::string_view messages, size_t most_tokens = 0) const {
    SLUICE_ASSIGN(ReplyPrompt made, reply(messages, most_tokens));
    return std::move(made.prompt);
  }

  Gguf header;
  std::optional<Tokenizer> tokenizer;
};

constexpr char kTurns[] =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
    "{% elif enable_thinking is defined %}<think>\n{% endif %}{% endif %}";
constexpr std::string_view kHi = R"([{"role": "user", "content": "Hi <think>"}])";
const Strings kControl = {"<|im_start|>", "<|im_end|>"};

TEST(ReplyFormat, SaysTheEndOfATurnAndTheMarks) {
  const Rig rig(kControl, kTurns);
  const ReplyFormat format = rig.reply(kHi)->format;
  EXPECT_EQ(format.end_tokens, Ids{257});
  EXPECT_EQ(format.think_begin, "<think>");
  EXPECT_EQ(format.think_end, "</think>");
  EXPECT_FALSE(format.begins_thinking);
  EXPECT_FALSE(format.begins_anywhere);
  EXPECT_TRUE(rig.reply(kHi, 0, true)->format.begins_thinking);
  EXPECT_FALSE(rig.reply(kHi, 0, false)->format.begins_thinking);
}

// The text that the model goes on with may have begun to reason, or follow where the template has.
TEST(ReplyFormat, SaysWhetherAPrefillIsReasoning) {
  const auto begins = [](const std::string& source, const std::string& content) {
    const Rig rig(kControl, source);
    const auto reply = rig.reply(R"({"messages": [{"role": "user", "content": "<think>"},
        {"role": "assistant", "content": ")" +
                                 content + R"("}], "continue_final_message": true})");
    EXPECT_TRUE(reply) << reply.error().message;
    return reply && reply->format.begins_thinking;
  };
  const std::string plain =
      "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>"
      "{% endfor %}{# </think> #}";
  EXPECT_TRUE(begins(plain, "<think>"));
  EXPECT_TRUE(begins(plain, "<think>\\nwell"));
  EXPECT_FALSE(begins(plain, "<think>\\nwell</think>"));
  EXPECT_FALSE(begins(plain, "well"));
  EXPECT_FALSE(begins(plain, ""));
  const std::string thinks =
      "{% for m in messages %}<|im_start|>{{ '<think>\n' if m.role == 'assistant' }}"
      "{{ m.content | trim }}<|im_end|>{% endfor %}{# </think> #}";
  EXPECT_TRUE(begins(thinks, ""));
  EXPECT_TRUE(begins(thinks, " "));
  EXPECT_TRUE(begins(thinks, "well"));
  EXPECT_FALSE(begins(thinks, "well</think>yes"));
}

TEST(ReplyFormat, OfATemplateInPlainWordsHasAStopText) {
  const Rig rig({}, "");
  const ReplyFormat format = rig.reply(kHi)->format;
  EXPECT_TRUE(format.end_tokens.empty());
  EXPECT_EQ(format.stop, Strings{"\nUser:"});
  EXPECT_FALSE(format.has_reasoning());
}

// However the built-in template was chosen.
TEST(ReplyFormat, HasTheStopTextOfABuiltInTemplate) {
  const Rig by_tokens({"<|user|>", "<|assistant|>"}, "");
  EXPECT_EQ(by_tokens.reply(kHi)->format.stop, Strings{"<|user|>"});
  const Rig by_name({}, "", "TinyLlama 1.1B");
  EXPECT_EQ(by_name.reply(kHi)->format.stop, Strings{"<|user|>"});
  const Rig ends_turns(kControl, "");
  EXPECT_TRUE(ends_turns.reply(kHi)->format.stop.empty());
  // A file's own template says nothing of stop texts.
  const Rig own({}, "{{ messages[0].content }}");
  EXPECT_TRUE(own.reply(kHi)->format.stop.empty());
}

TEST(ReplyFormat, IsNoneWithoutTheTokens) {
  const Rig rig(kControl, kTurns);
  ChatRequest request;
  request.messages = kHi;
  request.encode = false;
  const auto reply = make_reply_prompt({&rig.header, &*rig.tokenizer}, request);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->prompt.tokens.empty());
  EXPECT_TRUE(reply->format.end_tokens.empty());
  EXPECT_FALSE(reply->format.has_reasoning());
}

TEST(ReplyFormat, MarksThatAreControlTokensMayComeAnywhere) {
  const Rig rig({"<turn|>", "<|channel>", "<channel|>"},
                "{{ messages[0].content }}{% if messages[1] %}<|channel>thought\n<channel|>"
                "{{ messages[1].content }}<turn|>{% endif %}");
  const ReplyFormat format = rig.reply(kHi)->format;
  EXPECT_EQ(format.end_tokens, Ids{256});
  EXPECT_EQ(format.think_begin, "<|channel>thought\n");
  EXPECT_TRUE(format.begins_anywhere);
}

TEST(ReplyFormat, OfBuiltInTemplatesThatReason) {
  const Rig gemma({"<|turn>", "<turn|>", "<|channel>", "<channel|>"}, "");
  for (const bool thinking : {false, true}) {
    const ReplyFormat format = gemma.reply(kHi, 0, thinking)->format;
    EXPECT_EQ(format.end_tokens, Ids{257});
    EXPECT_EQ(format.think_begin, "<|channel>thought\n");
    EXPECT_EQ(format.think_end, "<channel|>");
    EXPECT_TRUE(format.begins_anywhere);
    EXPECT_FALSE(format.begins_thinking);
  }
  const Rig qwen(kControl, "", "Qwen3.5 4B", "qwen35");
  EXPECT_TRUE(qwen.reply(kHi)->format.begins_thinking);
  EXPECT_TRUE(qwen.reply(kHi, 0, true)->format.begins_thinking);
  EXPECT_FALSE(qwen.reply(kHi, 0, false)->format.begins_thinking);
  EXPECT_EQ(qwen.reply(kHi)->format.think_close, "\n</think>\n\n");
}

// As the model writes it: the channel's marks are control tokens, its name is text.
TEST(ReplyFormat, AChannelIsReasoning) {
  const Rig rig({"<|turn>", "<turn|>", "<|channel>", "<channel|>"}, "");
  const auto split_reply = [&](std::string_view written) {
    ReasoningSplit splitter(rig.reply(kHi, 0, true)->format);
    std::vector<ReplyText> out;
    for (const TokenId id : rig.tokenizer->encode(written, true)) {
      const std::string_view piece = rig.tokenizer->piece(id);
      splitter.push(std::string(piece), piece.empty() ? rig.tokenizer->raw_token(id) : "", out);
    }
    splitter.flush(out);
    Parts parts;
    for (const ReplyText& each : out)
      (each.reasoning ? parts.reasoning : parts.content) += each.text;
    return parts;
  };
  EXPECT_EQ(split_reply("<|channel>thought\nI see.\n<channel|>Yes."), (Parts{"I see.", "Yes."}));
  EXPECT_EQ(split_reply("<|channel>thought\n<channel|>Yes."), (Parts{"", "Yes."}));
  EXPECT_EQ(split_reply("Yes: thought\n"), (Parts{"", "Yes: thought\n"}));
}

std::optional<std::string> shared_template(const std::string& name) {
  std::ifstream file(std::string(SLUICE_ROOT) + "/../shared/data/templates/" + name + ".jinja");
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ReplyFormat, OfRealModels) {
  struct Case {
    std::string name;
    Strings control;
    std::string end;
    std::string think_begin;
    std::optional<bool> thinking;
    bool begins_thinking;
  };
  const Case cases[] = {
      {"Qwen-Qwen3-0.6B", {"<|im_start|>", "<|im_end|>"}, "<|im_end|>", "<think>", {}, false},
      {"Qwen-Qwen3-0.6B", {"<|im_start|>", "<|im_end|>"}, "<|im_end|>", "<think>", false, false},
      {"HuggingFaceTB-SmolLM3-3B",
       {"<|im_start|>", "<|im_end|>"},
       "<|im_end|>",
       "<think>",
       {},
       false},
      {"google-gemma-2-2b-it",
       {"<start_of_turn>", "<end_of_turn>"},
       "<end_of_turn>",
       "",
       {},
       false},
      {"google-gemma-4-31B-it",
       {"<|turn>", "<turn|>", "<|channel>", "<channel|>"},
       "<turn|>",
       "<|channel>thought\n",
       true,
       false},
      {"meta-llama-Llama-3.2-3B-Instruct",
       {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
       "<|eot_id|>",
       "",
       {},
       false},
      {"microsoft-Phi-3.5-mini-instruct", {"<|user|>", "<|end|>"}, "<|end|>", "", {}, false},
  };
  for (const Case& each : cases) {
    const auto source = shared_template(each.name);
    if (!source) GTEST_SKIP() << "../shared/data/templates is missing";
    const Rig rig(each.control, *source);
    const auto reply = rig.reply(kHi, 0, each.thinking);
    ASSERT_TRUE(reply) << each.name << ": " << reply.error().message;
    const ReplyFormat& format = reply->format;
    ASSERT_EQ(format.end_tokens.size(), 1u) << each.name;
    EXPECT_EQ(rig.tokenizer->raw_token(format.end_tokens[0]), each.end) << each.name;
    EXPECT_EQ(format.think_begin, each.think_begin) << each.name;
    EXPECT_EQ(format.begins_thinking, each.begins_thinking) << each.name;
  }
}

// --- long conversations --------------------------------------------------------------------------

std::string conversation(int turns, size_t words) {
  std::string json = R"([{"role": "system", "content": "S"})";
  const std::string text(words, 'x');
  for (int i = 0; i < turns; ++i) {
    json += R"(,{"role": "user", "content": ")" + std::to_string(i) + text + R"("})";
    if (i + 1 < turns) json += R"(,{"role": "assistant", "content": ")" + text + R"("})";
  }
  return json + "]";
}

// A template that writes more when there is little: the fewest messages are not the shortest
// prompt.
TEST(Fit, IsNeverLongerThanWasAskedFor) {
  const Rig rig(kControl, concat("{% if messages|length < 3 %}", std::string(1000, 'z'),
                                 "{% endif %}", kTurns));
  size_t fitted = 0;
  for (size_t most = rig.prompt(conversation(10, 20))->tokens.size(); most > 60; --most) {
    const auto prompt = rig.prompt(conversation(10, 20), most);
    if (!prompt) continue;
    ++fitted;
    ASSERT_LE(prompt->tokens.size(), most);
  }
  EXPECT_GT(fitted, 400u);
}

TEST(Fit, DropsTheOldestTurnsAndNeverTheSystems) {
  const Rig rig(kControl, kTurns);
  const ChatPrompt all = *rig.prompt(conversation(10, 20));
  EXPECT_EQ(all.dropped_messages, 0u);
  for (size_t most = all.tokens.size(); most >= 120; most -= 7) {
    const auto fitted = rig.prompt(conversation(10, 20), most);
    ASSERT_TRUE(fitted) << fitted.error().message;
    EXPECT_LE(fitted->tokens.size(), most);
    EXPECT_EQ(fitted->dropped_messages % 2, 0u);
    EXPECT_EQ(fitted->dropped_messages == 0, most >= all.tokens.size());
    EXPECT_TRUE(fitted->text.starts_with("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n" +
                                         std::to_string(fitted->dropped_messages / 2)));
    EXPECT_NE(fitted->text.find("\n9xxx"), std::string::npos);
  }
  const auto none = rig.prompt(conversation(10, 20), 30);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::context_full);
  EXPECT_NE(none.error().message.find("with the last turn alone"), std::string::npos);
}

TEST(Fit, TheNextPromptsLackTheSameTurns) {
  const Rig rig(kControl, kTurns);
  std::vector<size_t> dropped;
  for (int turns = 20; turns < 40; ++turns)
    dropped.push_back(rig.prompt(conversation(turns, 20), 1000)->dropped_messages);
  size_t changes = 0;
  for (size_t i = 1; i < dropped.size(); ++i) {
    EXPECT_GE(dropped[i], dropped[i - 1]);
    changes += dropped[i] != dropped[i - 1];
  }
  // A turn has about 70 tokens, a quarter of the room 250.
  EXPECT_GE(changes, 3u);
  EXPECT_LE(changes, 8u);
}

// --- tokens that are used again ------------------------------------------------------------------

TEST(Reuse, TakesTheTokensThatTheModelWrote) {
  const Rig rig(kControl, "");
  const Tokenizer& tokenizer = *rig.tokenizer;
  const Ids a = tokenizer.encode("a"), b = tokenizer.encode("b"), c = tokenizer.encode("c");
  const auto join = [](std::initializer_list<Ids> lists) {
    Ids all;
    for (const Ids& list : lists) all.insert(all.end(), list.begin(), list.end());
    return all;
  };
  const Ids start{256}, end{257}, ab{258};
  // The model has written "abc" in three tokens.
  const Ids known = join({start, a, b, c});
  const Ids fresh = join({start, tokenizer.encode("abc"), end, start, c});
  EXPECT_EQ(reuse_tokens(tokenizer, known, fresh), join({start, a, b, c, end, start, c}));
  // As far as both agree, also where no special token is.
  EXPECT_EQ(reuse_tokens(tokenizer, join({start, c, end, a, b}), fresh), fresh);
  EXPECT_EQ(reuse_tokens(tokenizer, join({start, a, b, c, start}), fresh),
            join({start, a, b, c, end, start, c}));
  EXPECT_EQ(reuse_tokens(tokenizer, join({a, b}), join({ab, c})), join({a, b, c}));
  EXPECT_EQ(reuse_tokens(tokenizer, join({a, b, b}), join({ab, c})), join({a, b, c}));
  EXPECT_EQ(reuse_tokens(tokenizer, join({a}), join({ab, c})), join({ab, c}));
  EXPECT_EQ(reuse_tokens(tokenizer, {}, fresh), fresh);
  EXPECT_EQ(reuse_tokens(tokenizer, known, {}), Ids{});
  EXPECT_EQ(reuse_tokens(tokenizer, known, start), start);
}

TEST(Reuse, NeverChangesTheBytes) {
  const Rig rig(kControl, "");
  const Tokenizer& tokenizer = *rig.tokenizer;
  std::mt19937 random(7);
  const Ids ab_tokens = {'a', 'b', 258};
  const auto list = [&](size_t n) {
    Ids ids;
    for (size_t i = 0; i < n; ++i)
      ids.push_back(random() % 4 == 0 ? 256 + static_cast<TokenId>(random() % 2)
                                      : ab_tokens[random() % 3]);
    return ids;
  };
  const auto raw = [&](const Ids& ids) {
    std::string text;
    for (const TokenId id : ids)
      text += tokenizer.is_special(id) ? tokenizer.raw_token(id) : tokenizer.piece(id);
    return text;
  };
  for (int trial = 0; trial < 5000; ++trial) {
    const Ids known = list(random() % 8), prompt = list(random() % 8);
    EXPECT_EQ(raw(reuse_tokens(tokenizer, known, prompt)), raw(prompt));
  }
}

}  // namespace
}  // namespace sluice
