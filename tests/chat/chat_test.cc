// Tests of chats as prompts: which template, what it is given, and the tokens of its text.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat/choice.h"
#include "chat_rig.h"

namespace sluice {
namespace {

std::string error_of(const Result<ChatPrompt>& prompt) {
  if (prompt) return "no error: " + prompt->text;
  EXPECT_EQ(prompt.error().code, Code::invalid_argument);
  return prompt.error().message;
}

// With a template and no model.
Result<ChatPrompt> render(std::string_view source, std::string_view messages,
                          std::string_view kwargs = "", bool adapt = false) {
  ChatRequest request;
  request.messages = messages;
  request.kwargs = kwargs;
  request.chat_template = source;
  request.adapt_contents = adapt;
  return apply_chat_template({}, request);
}

constexpr std::string_view kHi = R"([{"role": "user", "content": "Hi"}])";
constexpr std::string_view kAnswered =
    R"([{"role": "system", "content": "Sys"}, {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes"}, {"role": "user", "content": "Go"}])";

Ids bytes_of_text(std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<uint8_t>(c));
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- which template ------------------------------------------------------------------------------

TEST(ChatChoice, TakesTheFilesOwnOrTheOneForTools) {
  const Rig rig({}, {{"tokenizer.chat_template", "own"},
                     {"tokenizer.chat_template.tool_use", "tools"},
                     {"tokenizer.chat_template.rag", "rag"}});
  EXPECT_EQ(must(prompt_of(rig.model(), kHi)).text, "own");
  EXPECT_EQ(must(prompt_of(rig.model(), kHi)).source, "tokenizer.chat_template");
  const ChatPrompt prompt = must(prompt_of(rig.model(), kHi, R"({"tools": []})"));
  EXPECT_EQ(prompt.text, "tools");
  EXPECT_EQ(prompt.source, "tokenizer.chat_template.tool_use");
  EXPECT_EQ(must(prompt_of(rig.model(), kHi, R"({"tools": null})")).text, "own");
  EXPECT_TRUE(prompt.warnings.empty());
  ChatRequest request;
  request.messages = kHi;
  for (const char* given : {"rag", "neither"}) {
    request.chat_template = given;
    EXPECT_EQ(must(apply_chat_template(rig.model(), request)).text, given);
  }
}

TEST(ChatChoice, BuiltInTemplatesAreNamedInAWarning) {
  struct Case {
    Strings control;
    std::string family, text;
  };
  const Case cases[] = {
      {{"<|im_start|>", "<|im_end|>"},
       "chatml",
       "<|im_start|>system\nSys<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
       "<|im_start|>assistant\nYes<|im_end|>\n<|im_start|>user\nGo<|im_end|>\n"
       "<|im_start|>assistant\n"},
      {{"<|start_header_id|>", "<|eot_id|>"},
       "llama3",
       "<|start_header_id|>system<|end_header_id|>\n\nSys<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>"
       "<|start_header_id|>user<|end_header_id|>\n\nGo<|eot_id|>"
       "<|start_header_id|>assistant<|end_header_id|>\n\n"},
      {{"<start_of_turn>", "<end_of_turn>"},
       "gemma",
       "<start_of_turn>user\nSys\n\nHi<end_of_turn>\n<start_of_turn>model\nYes<end_of_turn>\n"
       "<start_of_turn>user\nGo<end_of_turn>\n<start_of_turn>model\n"},
      {{"<|turn>", "<turn|>"},
       "gemma4",
       "<|turn>system\nSys<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\nYes<turn|>\n"
       "<|turn>user\nGo<turn|>\n<|turn>model\n<|channel>thought\n<channel|>"},
      {{"<|user|>", "<|assistant|>", "<|end|>"},
       "phi3",
       "<|system|>\nSys<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nYes<|end|>\n"
       "<|user|>\nGo<|end|>\n<|assistant|>\n"},
      {{"<|user|>", "<|assistant|>"},
       "zephyr",
       "<|system|>\nSys\n<|user|>\nHi\n<|assistant|>\nYes\n<|user|>\nGo\n<|assistant|>\n"},
      {{"[INST]", "[/INST]"}, "mistral", "[INST] Sys\n\nHi [/INST] Yes[INST] Go [/INST]"},
      {{}, "plain text", "System: Sys\n\nUser: Hi\n\nAssistant: Yes\n\nUser: Go\n\nAssistant:"},
  };
  for (const Case& each : cases) {
    const Rig rig(each.control, {});
    const ChatPrompt prompt = must(prompt_of(rig.model(), kAnswered));
    EXPECT_EQ(prompt.text, each.text);
    EXPECT_EQ(prompt.source, "built in: " + each.family);
    ASSERT_EQ(prompt.warnings.size(), 1u) << each.family;
    EXPECT_TRUE(prompt.warnings[0].message.starts_with(
        "the file has no chat template; the one of " + each.family + " is used, because "))
        << prompt.warnings[0].message;
  }
}

TEST(ChatChoice, BuiltInTemplatesByNameAndArchitecture) {
  struct Case {
    std::string name, architecture, family;
  };
  const Case cases[] = {
      {"TinyLlama 1.1B Chat", "llama", "zephyr"},
      {"Mixtral 8x7B", "llama", "mistral"},
      {"Llama-2 7B chat", "llama", "llama2"},
      {"x", "gemma2", "gemma"},
      {"x", "gemma4", "gemma4"},
      {"x", "qwen35moe", "qwen3.5"},
      {"x", "qwen2", "chatml"},
      {"x", "llama", "plain text"},
  };
  for (const Case& each : cases) {
    const Rig rig({}, {{"general.name", each.name}, {"general.architecture", each.architecture}});
    EXPECT_EQ(must(prompt_of(rig.model(), kAnswered)).source, "built in: " + each.family);
  }
}

TEST(ChatChoice, BuiltInTemplatesTakeEveryConversation) {
  const Strings chats = {
      "[]", R"([{"role": "system", "content": "S"}])",
      R"([{"role": "assistant", "content": null, "tool_calls": [{}]}, {"role": "tool", "content": "x"}])",
      R"([{"role": "user", "content": "a"}, {"role": "user"}, {"role": "system", "content": "late"}])"};
  const std::vector<Strings> vocabularies = {{"<|im_start|>", "<|im_end|>"},
                                             {"<|start_header_id|>", "<|eot_id|>"},
                                             {"<start_of_turn>", "<end_of_turn>"},
                                             {"<|turn>", "<turn|>"},
                                             {"<|user|>", "<|assistant|>"},
                                             {"[INST]", "[/INST]"},
                                             {}};
  for (const Strings& control : vocabularies) {
    const Rig rig(control, {});
    for (const std::string& chat : chats) must(prompt_of(rig.model(), chat));
    const ChatPrompt prompt = must(prompt_of(rig.model(), kHi, R"({"tools": [{}]})"));
    ASSERT_EQ(prompt.warnings.size(), 2u);
    EXPECT_NE(prompt.warnings[1].message.find("knows no tools"), std::string::npos);
  }
  const Rig llama2({}, {{"general.name", "llama-2"}});
  for (const std::string& chat : chats) must(prompt_of(llama2.model(), chat));
}

// --- templates of families that reason -----------------------------------------------------------

constexpr std::string_view kReasoned =
    R"([{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "<think>\nno\n</think>\n\n<|channel>thought\nno\n<channel|> Yes\n",
         "reasoning_content": "no"},
        {"role": "user", "content": "</think> <channel|>"}])";

TEST(ChatChoice, TheBuiltInTemplateOfQwen35) {
  Rig rig({"<|im_start|>", "<|im_end|>"}, {{"tokenizer.ggml.pre", "qwen35"}});
  const std::string turns = "<|im_start|>user\nHi<|im_end|>\n";
  const ChatPrompt prompt = must(prompt_of(rig.model(), kHi));
  EXPECT_EQ(prompt.source, "built in: qwen3.5");
  EXPECT_EQ(prompt.text, turns + "<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(must(prompt_of(rig.model(), kHi, R"({"enable_thinking": false})")).text,
            turns + "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const std::string text = must(prompt_of(rig.model(), kReasoned)).text;
  EXPECT_TRUE(text.find("no\n</think>") == std::string::npos) << text;
  EXPECT_NE(text.find("Yes<|im_end|>"), std::string::npos) << text;
  EXPECT_NE(text.find("user\n</think> <channel|><|im_end|>"), std::string::npos) << text;
}

TEST(ChatChoice, TheBuiltInTemplateOfGemma4) {
  const Rig rig({"<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>", "<bos>"}, {}, true,
                261);
  EXPECT_EQ(must(prompt_of(rig.model(), kHi)).text,
            "<bos><|turn>user\nHi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>");
  EXPECT_EQ(must(prompt_of(rig.model(), kHi, R"({"enable_thinking": true})")).text,
            "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n");
  EXPECT_TRUE(must(prompt_of(rig.model(), kAnswered, R"({"enable_thinking": true})"))
                  .text.starts_with("<bos><|turn>system\n<|think|>\nSys<turn|>\n"));
  const std::string text = must(prompt_of(rig.model(), kReasoned)).text;
  EXPECT_NE(text.find("</think>\n\n Yes<turn|>"), std::string::npos) << text;
  EXPECT_NE(text.find("user\n</think> <channel|><turn|>"), std::string::npos) << text;
}

TEST(ChatChoice, NeedsATemplateOrAModel) {
  EXPECT_EQ(error_of(prompt_of({}, kHi)),
            "there is neither a model nor a chat template; give one of them");
}

// --- what it is given ----------------------------------------------------------------------------

TEST(Chat, ReadsAListOrAnObjectAndKwargsOverride) {
  constexpr std::string_view kShow =
      "{{ messages[0].content }} {{ x }} {{ y }} {{ add_generation_prompt }} {{ tools }} "
      "{{ documents is defined }}";
  EXPECT_EQ(must(render(kShow, kHi, R"({"y": 2})")).text, "Hi  2 True None True");
  EXPECT_EQ(must(render(kShow, R"({"messages": [{"role": "user", "content": "Hi"}], "x": 1, "y": 1,
                                   "add_generation_prompt": false, "tools": [1]})",
                        R"({"y": 2})"))
                .text,
            "Hi 1 2 False [1] True");
}

TEST(Chat, SpecialTokensAreTheFilesUnlessGiven) {
  constexpr std::string_view kShow = "[{{ bos_token }}|{{ eos_token }}|{{ unk_token is defined }}]";
  EXPECT_EQ(must(render(kShow, kHi)).text, "[||False]");
  const Rig rig({"<s>", "</s>"}, {{"tokenizer.chat_template", std::string(kShow)}}, false, 256);
  EXPECT_EQ(must(prompt_of(rig.model(), kHi)).text, "[<s>||False]");
  EXPECT_EQ(must(prompt_of(rig.model(), kHi, R"({"eos_token": "E"})")).text, "[<s>|E|False]");
}

TEST(Chat, GoesOnWithTheLastMessage) {
  constexpr std::string_view kTemplate =
      "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}";
  constexpr std::string_view kBegun =
      R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": " Well, "}])";
  constexpr std::string_view kGoOn = R"({"continue_final_message": true})";
  EXPECT_EQ(must(render(kTemplate, kBegun)).text, "<user>Hi</><assistant>Well,</><assistant>");
  EXPECT_EQ(must(render(kTemplate, kBegun, kGoOn)).text, "<user>Hi</><assistant>Well,");
  EXPECT_EQ(must(render("{{ messages[1].content }}</>", kBegun, kGoOn)).text, " Well, ");
  EXPECT_NE(error_of(render(kTemplate, kHi, kGoOn)).find("of the role 'user'"), std::string::npos);
  EXPECT_NE(error_of(render(kTemplate, "[]", kGoOn)).find("missing"), std::string::npos);
  EXPECT_NE(error_of(render(kTemplate, kBegun,
                            R"({"continue_final_message": true, "add_generation_prompt": true})"))
                .find("give only one"),
            std::string::npos);
  EXPECT_NE(error_of(render("none", kBegun, kGoOn)).find("doesn't show the text"),
            std::string::npos);
}

TEST(Chat, BadMessagesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "the messages: this is not valid JSON, at byte"},
      {"3", "the list of messages is a number; expected messages like"},
      {"{}", "the list of messages is missing; expected"},
      {R"({"messages": "Hi"})", "the list of messages is the text 'Hi'; expected"},
      {"[1]", "messages[0] is a number; expected an object like"},
      {R"([{"content": "x"}])", "messages[0].role is missing; expected a text"},
      {R"([{"role": 1}])", "messages[0].role is a number; expected a text"},
      {R"([{"role": "user", "content": 1}])", "messages[0].content is a number; expected a text"},
      {R"([{"role": "user", "content": [1]}])", "a part of messages[0].content is a number"},
      {R"({"messages": [], "tools": {}})",
       "the list of tools is an object; expected a list, or null"},
      {R"({"messages": [], "continue_final_message": 1})", "continue_final_message is a number"},
  };
  for (const auto& [json, says] : cases) {
    const std::string message = error_of(render("x", json));
    EXPECT_TRUE(message.starts_with(says)) << message;
  }
  EXPECT_TRUE(
      error_of(render("x", "[]", "[]")).starts_with("the kwargs' JSON is a list; expected an "));
  const std::string large(65u << 20, ' ');
  EXPECT_TRUE(error_of(render("x", large)).starts_with("the messages have 68.2 MB of JSON"));
}

TEST(Chat, AFailingTemplateTellsTheLine) {
  EXPECT_EQ(error_of(render("a\n{{ raise_exception('no') }}", kHi)),
            "line 2 of the template: raise_exception: no");
  EXPECT_TRUE(error_of(render("a\n\n{% if %}", kHi)).starts_with("line 3 of the template: "));
}

TEST(Chat, TheTimeIsTheCallers) {
  ChatRequest request;
  request.messages = kHi;
  request.chat_template = "{{ strftime_now('%d %b %Y %H:%M') }}";
  request.time = {1'753'920'305, 3600};
  EXPECT_EQ(must(apply_chat_template({}, request)).text, "31 Jul 2025 01:05");
}

TEST(Chat, CanBeInterrupted) {
  ChatRequest request;
  request.messages = kHi;
  request.chat_template =
      "{% for a in range(9999) %}{% for b in range(9999) %}{% set x = a * b %}{% endfor %}"
      "{% endfor %}";
  int asked = 0;
  request.time.stopped = [&asked] { return ++asked > 3; };
  const auto made = apply_chat_template({}, request);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::aborted);
  EXPECT_GT(asked, 3);
}

// --- contents ------------------------------------------------------------------------------------

constexpr std::string_view kParts =
    R"([{"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}])";
constexpr std::string_view kTextsOnly = "{% for m in messages %}{{ m.content }};{% endfor %}";
constexpr std::string_view kPartsOnly =
    "{% for m in messages %}{% for p in m.content %}{{ p.text }},{% endfor %};{% endfor %}";

TEST(Chat, ContentsAreGivenAsTheyAre) {
  const ChatPrompt listed = must(render(kTextsOnly, kParts));
  EXPECT_EQ(listed.text, "[{'type': 'text', 'text': 'A'}, {'type': 'text', 'text': 'B'}];");
  ASSERT_EQ(listed.warnings.size(), 1u);
  EXPECT_TRUE(listed.warnings[0].message.starts_with("the template knows no content in parts"));
  EXPECT_EQ(must(render(kPartsOnly, kParts)).text, "A,B,;");
  EXPECT_TRUE(must(render(kPartsOnly, kParts)).warnings.empty());
}

TEST(Chat, ContentsAreAdaptedIfAskedFor) {
  const ChatPrompt joined = must(render(kTextsOnly, kParts, "", true));
  EXPECT_EQ(joined.text, "A\nB;");
  ASSERT_EQ(joined.warnings.size(), 1u);
  EXPECT_EQ(joined.warnings[0].message,
            "the template knows no content in parts: their texts are joined");
  EXPECT_EQ(must(render(kPartsOnly, kParts, "", true)).text, "A,B,;");
  EXPECT_EQ(must(render(kPartsOnly, kHi, "", true)).text, "Hi,;");
  EXPECT_EQ(must(render(kTextsOnly, kHi, "", true)).text, "Hi;");
  EXPECT_EQ(error_of(render(kTextsOnly, R"([{"role": "user", "content": [{"type": "image"}]}])", "",
                            true)),
            "messages[0].content[0] is a part of the type 'image', but the model's template takes "
            "only text");
}

// --- tokens --------------------------------------------------------------------------------------

constexpr const char* kTurns =
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";

TEST(ChatTokens, BosIsNeverDoubled) {
  const Ids turn = Ids{257} + bytes_of_text("Hi") + Ids{258};
  const Strings control = {"<s>", "<|im_start|>", "<|im_end|>"};
  for (const bool adds : {false, true}) {
    const Rig writes(control, {{"tokenizer.chat_template", kTurns}}, adds, 256);
    EXPECT_EQ(must(prompt_of(writes.model(), kHi)).tokens, Ids{256} + turn);
    const Rig leaves(control, {{"tokenizer.chat_template", kTurns + 15}}, adds, 256);
    const ChatPrompt prompt = must(prompt_of(leaves.model(), kHi));
    EXPECT_EQ(prompt.tokens, adds ? Ids{256} + turn : turn);
    EXPECT_EQ(prompt.text, "<|im_start|>Hi<|im_end|>");
    const Rig twice(control, {{"tokenizer.chat_template", std::string("<s>") + kTurns}}, adds, 256);
    EXPECT_EQ(must(prompt_of(twice.model(), kHi)).tokens, Ids{256} + turn);
  }
}

TEST(ChatTokens, SpecialTokensInContentsStayText) {
  const Rig rig({"<s>", "<|im_start|>", "<|im_end|>"}, {{"tokenizer.chat_template", kTurns + 15}});
  const auto tokens = [&](std::string_view messages) {
    return must(prompt_of(rig.model(), messages)).tokens;
  };
  EXPECT_EQ(tokens(R"([{"role": "user", "content": "a<|im_end|>b<s>"}])"),
            Ids{257} + bytes_of_text("a<|im_end|>b<s>") + Ids{258});
  EXPECT_EQ(tokens(R"([{"role": "user", "content": "<|im_end|>"},
                       {"role": "user", "content": "<|im_start|><|im_end|>"}])"),
            Ids{257} + bytes_of_text("<|im_end|>") + Ids({258, 257}) +
                bytes_of_text("<|im_start|><|im_end|>") + Ids{258});
}

TEST(ChatTokens, SpecialTokensInToolsStayText) {
  const Rig rig({"<|im_start|>", "<|im_end|>"},
                {{"tokenizer.chat_template",
                  "<|im_start|>{{ tools | tojson }}<|im_end|>{{ messages[0].content | length }}"}});
  EXPECT_EQ(must(prompt_of(rig.model(), R"([{"role": "user", "content": "<|im_end|>"}])",
                           R"({"tools": [{"<|im_end|>": "<|im_start|>\u00fc"}]})"))
                .tokens,
            Ids{256} + bytes_of_text("[{\"<|im_end|>\": \"<|im_start|>\u00fc\"}]") + Ids{257} +
                bytes_of_text("10"));
}

TEST(ChatTokens, TheTextThatIsGoneOnWithIsText) {
  const Rig rig({"<|im_start|>", "<|im_end|>"}, {{"tokenizer.chat_template", kTurns + 15}});
  EXPECT_EQ(must(prompt_of(rig.model(), R"([{"role": "assistant", "content": "a <|im_end|>"}])",
                           R"({"continue_final_message": true})"))
                .tokens,
            Ids{256} + bytes_of_text("a <|im_end|>"));
}

TEST(ChatTokens, EncodingFindsNoControlTokensInInput) {
  const Rig rig({"<a>", "<b>"}, {});
  const std::string text = "<a><b><a>x<b>";
  for (const size_t slice : {size_t{1}, size_t{4}, size_t{1000}}) {
    Encoding encoding(*rig.tokenizer, text, true, slice, {{3, 6}, {9, 11}});
    while (encoding.step()) continue;
    EXPECT_EQ(encoding.take(), Ids{256} + bytes_of_text("<b>") + Ids{256} + bytes_of_text("x<b>"));
  }
  EXPECT_EQ(rig.tokenizer->encode("<a>", true, {{1, 2}}), bytes_of_text("<a>"));
}

}  // namespace
}  // namespace sluice
