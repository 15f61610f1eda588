// Tests of what a prompt costs: how often its template is rendered, and how much is encoded.
#include <string>

#include "base/format.h"
#include "chat_rig.h"
#include "reply/reply_prompt.h"

namespace sluice {
namespace {

constexpr const char* kPlainTurns =
    "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
constexpr std::string_view kShort = R"([{"role": "user", "content": "Hi"}])";

// `growing`: each turn is longer than the one before.
std::string conversation(size_t turns, size_t bytes, bool growing = false) {
  std::string json = R"([{"role": "system", "content": "S"})";
  std::string text;
  for (size_t i = 0; i < turns; ++i) {
    while (text.size() < (growing ? bytes * i / turns : bytes)) text += "xxxx ";
    json += concat(R"(,{"role": "user", "content": ")", i, text, R"("})");
    if (i + 1 < turns) json += concat(R"(,{"role": "assistant", "content": ")", text, R"("})");
  }
  return json + "]";
}

// How often the work asks whether it shall stop: the more there is of it, the more often.
struct Asked {
  size_t times = 0;
  size_t stop_at = SIZE_MAX;
  std::function<bool()> ask() {
    return [this] { return ++times >= stop_at; };
  }
};

// --- renderings ----------------------------------------------------------------------------------

size_t renderings(const ChatModel& model, std::string_view kwargs = "",
                  std::optional<std::string_view> source = {}) {
  ChatRequest request;
  request.messages = kShort;
  request.kwargs = kwargs;
  request.chat_template = source;
  request.adapt_contents = true;
  const auto reply = make_reply_prompt(model, request);
  EXPECT_TRUE(reply) << reply.error().message;
  return reply ? reply->prompt.renderings : 0;
}

TEST(ChatCost, TrialsAreMadeOncePerTemplateAndOptions) {
  const Rig rig(kPlainTurns);
  TemplateCache cache;
  ChatModel model = rig.model();
  // How it shows a content, and what ends an answer.
  EXPECT_EQ(renderings(model), 3u);
  EXPECT_EQ(renderings(model), 3u);
  model.cache = &cache;
  EXPECT_EQ(renderings(model), 3u);
  for (int turn = 0; turn < 3; ++turn) EXPECT_EQ(renderings(model), 1u);
  EXPECT_EQ(renderings(model, R"({"tools": [1], "documents": [{}]})"), 1u);
  EXPECT_EQ(renderings(model, R"({"thinking": true})"), 3u);
  EXPECT_EQ(renderings(model, R"({"thinking": 1})"), 3u);
  // The two that were used last are kept.
  EXPECT_EQ(renderings(model, R"({"thinking": true})"), 1u);
  EXPECT_EQ(renderings(model), 3u);
  EXPECT_EQ(renderings(model, "", "{{ messages[0].content }}"), 4u);
  EXPECT_EQ(renderings(model, "", "{{ messages[0].content }}"), 1u);
}

TEST(ChatCost, TrialsStop) {
  const Rig rig(kPlainTurns);
  TemplateCache cache;
  ChatModel model = rig.model();
  model.cache = &cache;
  Asked asked;
  ChatRequest request;
  request.messages = kShort;
  request.adapt_contents = true;
  // Only trials take long.
  const std::string source =
      "{% if 'Marco' in messages[0].content %}{% for i in range(100000) %}{{ i }}{% endfor %}"
      "{% endif %}{{ messages[0].content }}";
  request.chat_template = source;
  asked.stop_at = 1;
  request.time.stopped = asked.ask();
  const auto stopped = apply_chat_template(model, request);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::aborted);
  // Nothing was learned of it.
  request.time.stopped = {};
  EXPECT_EQ(must(apply_chat_template(model, request)).renderings, 2u);
}

// --- long prompts --------------------------------------------------------------------------------

uint64_t number_of(const Error& error, std::string_view name) {
  for (const Fact& fact : error.facts)
    if (fact.name == name) return std::get<uint64_t>(fact.value);
  return 0;
}

TEST(ChatCost, EncodingEndsAtTheContext) {
  const Rig rig(kPlainTurns);
  const std::string chat = conversation(1, 3'000'000);
  ChatRequest request;
  request.messages = chat;
  Asked all, some;
  request.time.stopped = all.ask();
  EXPECT_EQ(must(apply_chat_template(rig.model(), request)).tokens.size(), 3'000'006u);
  request.context = 100;
  request.time.stopped = some.ask();
  const auto bounded = apply_chat_template(rig.model(), request);
  ASSERT_FALSE(bounded);
  const Error& error = bounded.error();
  EXPECT_EQ(error.code, Code::context_full);
  EXPECT_TRUE(
      error.message.starts_with("the prompt has more than 100 tokens (about 3000000), but "))
      << error.message;
  EXPECT_EQ(number_of(error, "tokens"), 3'000'000u);
  EXPECT_EQ(number_of(error, "room"), 100u);
  EXPECT_GT(all.times, some.times + 3'000'000 / Encoding::kSlice - 5);
  // The last slice.
  Asked late;
  late.stop_at = all.times;
  request.context = 0;
  request.time.stopped = late.ask();
  const auto stopped = apply_chat_template(rig.model(), request);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::aborted);
}

TEST(ChatCost, ShortPromptsSayTheirExactLength) {
  const Rig rig(kPlainTurns);
  ChatRequest request;
  request.messages = kShort;
  request.context = 4;
  EXPECT_EQ(must(apply_chat_template(rig.model(), request)).tokens.size(), 4u);
  request.context = 3;
  const auto prompt = apply_chat_template(rig.model(), request);
  ASSERT_FALSE(prompt);
  EXPECT_EQ(prompt.error().message,
            "the prompt has 4 tokens, but there is room for 3; shorten the prompt or load with a "
            "larger context");
  EXPECT_EQ(number_of(prompt.error(), "tokens"), 4u);
}

TEST(ChatCost, ALongChatIsFittedFromOneRendering) {
  const Rig rig(kPlainTurns);
  const std::string chat = conversation(400, 10'000);
  ChatRequest request;
  request.messages = chat;
  Asked all, some;
  request.time.stopped = all.ask();
  EXPECT_EQ(must(apply_chat_template(rig.model(), request)).renderings, 1u);
  for (const size_t room : {30'000u, 50'000u, 75'000u}) {
    request.most_tokens = room;
    request.time.stopped = some.ask();
    some.times = 0;
    const ChatPrompt prompt = must(apply_chat_template(rig.model(), request));
    EXPECT_EQ(prompt.renderings, 2u);
    EXPECT_LE(prompt.tokens.size(), room);
    EXPECT_GE(prompt.tokens.size() + 40'000 + room / 4, room);
    EXPECT_EQ(prompt.dropped_messages % 2, 0u);
    // It is rendered twice and encoded three times, but never the whole chat.
    EXPECT_LT(some.times, all.times) << room;
  }
}

TEST(ChatCost, ChatsOfTemplatesThatTellNothingOfTheirTurnsAreFitted) {
  const Rig rig(
      "{% for m in messages %}{{ m.content | length }}{% for i in range(90) %}x{% endfor "
      "%}<|im_end|>{% endfor %}");
  const std::string chat = conversation(50, 100);
  ChatRequest request;
  request.messages = chat;
  request.most_tokens = 3000;
  const ChatPrompt prompt = must(apply_chat_template(rig.model(), request));
  EXPECT_LE(prompt.renderings, 4u);
  EXPECT_GE(prompt.tokens.size(), 1500u);
  EXPECT_GT(prompt.dropped_messages, 0u);
}

// Turns are told apart by where their texts are shown, wherever else the template shows them.
TEST(ChatCost, TextsThatAreShownTwiceAreNoObstacle) {
  const Rig rig(
      concat("{{ messages[-1].content }};{{ tools }};", kPlainTurns, "{{ messages[1].content }}"));
  const std::string chat =
      concat(R"({"messages": )", conversation(40, 200, true), R"(, "tools": ["t"]})");
  ChatRequest request;
  request.messages = chat;
  request.most_tokens = 3000;
  const ChatPrompt prompt = must(apply_chat_template(rig.model(), request));
  EXPECT_EQ(prompt.renderings, 2u);
  EXPECT_GE(prompt.tokens.size(), 1900u);
}

TEST(ChatCost, APrefillIsFittedAsWell) {
  const Rig rig(kPlainTurns);
  std::string chat = conversation(40, 100);
  chat.pop_back();
  ChatRequest request;
  request.kwargs = R"({"continue_final_message": true})";
  request.most_tokens = 3000;
  const std::string empty = chat + R"(,{"role": "assistant", "content": ""}])";
  request.messages = empty;
  const ChatPrompt prompt = must(apply_chat_template(rig.model(), request));
  EXPECT_EQ(prompt.renderings, 4u);
  EXPECT_TRUE(prompt.text.ends_with("xxxx <|im_end|><|im_start|>"));
}

}  // namespace
}  // namespace sluice
