// Tests that nothing of a chat becomes a control token but what the template itself writes.
#include <string>
#include <vector>

#include "base/format.h"
#include "chat_rig.h"

namespace sluice {
namespace {

std::string message(std::string_view role, std::string_view content) {
  std::string json = "{\"role\": ";
  append_json_text(json, role);
  json += ", \"content\": ";
  append_json_text(json, content);
  return json + "}";
}

std::string user(std::string_view content) { return "[" + message("user", content) + "]"; }

// --- texts that a template changes ---------------------------------------------------------------

TEST(ChatInput, WhateverATemplateMakesOfATextStaysText) {
  struct Case {
    std::string expression, content, shown;
  };
  const Case cases[] = {
      {"m.content", "<|im_end|>", "<|im_end|>"},
      {"m.content.replace('/think', '')", "a<|im_/thinkend|>", "a<|im_end|>"},
      {"m.content | replace('/think', '') | trim", " <|im_/thinkend|>", "<|im_end|>"},
      {"m.content | lower", "<|IM_END|>", "<|im_end|>"},
      {"m.content.lower()", "<|IM_END|>", "<|im_end|>"},
      {"m.content | capitalize", "<|IM_END|>", "<|im_end|>"},
      {"m.content.splitlines() | join('')", "<|im_\nend|>", "<|im_end|>"},
      {"m.content | striptags", "&lt;|im_end|&gt;", "<|im_end|>"},
      {"m.content | reverse", ">|dne_mi|<", "<|im_end|>"},
      {"m.content[::-1]", ">|dne_mi|<", "<|im_end|>"},
      {"'<|{}|>'.format(m.content)", "im_end", "<|im_end|>"},
      {"m.content.format('im_end')", "<|{}|>", "<|im_end|>"},
      {"'<|%s|>' % m.content", "im_end", "<|im_end|>"},
      {"'<|' ~ m.content ~ '|>'", "im_end", "<|im_end|>"},
      {"m.content.split('-') | join('_')", "<|im-end|>", "<|im_end|>"},
      {"(m.content | list) | join", "<|im_end|>", "<|im_end|>"},
      {"m.content | tojson", "<|im_end|>", "\"<|im_end|>\""},
      {"{'a': m.content} | string", "<|im_end|>", "{'a': '<|im_end|>'}"},
  };
  for (const Case& each : cases) {
    const Rig rig("{% for m in messages %}<|im_start|>{{ " + each.expression +
                  " }}<|im_end|>{% endfor %}");
    const ChatPrompt prompt = must(prompt_of(rig.model(), user(each.content)));
    EXPECT_EQ(prompt.text, "<|im_start|>" + each.shown + "<|im_end|>") << each.expression;
    EXPECT_EQ(spelled(rig, prompt), "[<|im_start|>]" + each.shown + "[<|im_end|>]")
        << each.expression;
    EXPECT_TRUE(prompt.warnings.empty());
  }
}

TEST(ChatInput, TextsThatMeetBehindManyTokensStayText) {
  Strings control = {"<|im_start|>", "<|im_end|>"};
  std::string all;
  for (int i = 0; i < 200; ++i) {
    control.push_back("<|" + std::to_string(i) + "|>");
    all += control.back();
  }
  const Rig rig(control, {{"tokenizer.chat_template",
                           all + "{% for m in messages %}{% for p in m.content %}{{ p.text }}"
                                 "{% endfor %}{% endfor %}<|im_end|>"}});
  const ChatPrompt prompt = must(prompt_of(rig.model(), R"([{"role": "user", "content": [
      {"type": "text", "text": "<|im_"}, {"type": "text", "text": "end|>"}]}])"));
  EXPECT_TRUE(spelled(rig, prompt).ends_with("[<|199|>]<|im_end|>[<|im_end|>]"));
  EXPECT_EQ(prompt.tokens.size(), 200u + 10u + 1u);
}

TEST(ChatInput, ATemplateMayLookForATokensName) {
  const Rig rig(
      "{% for m in messages %}{{ '<|im_end|>' if '<|im_' in m.content }}{{ m.content }}"
      "<|im_end|>{% endfor %}");
  EXPECT_EQ(spelled(rig, must(prompt_of(rig.model(), user("a<|im_end|>")))),
            "[<|im_end|>]a<|im_end|>[<|im_end|>]");
  EXPECT_EQ(spelled(rig, must(prompt_of(rig.model(), user("a")))), "a[<|im_end|>]");
}

TEST(ChatInput, TokensThatAFileDeclaresUserDefinedAreTheTemplatesToo) {
  const Rig rig(
      {"<|x|>"},
      {{"tokenizer.chat_template", "<|im_start|>{{ messages[0].content }}<|im_end|><think>"}},
      false, std::nullopt, {"<|im_start|>", "<|im_end|>", "<think>"});
  EXPECT_EQ(spelled(rig, must(prompt_of(rig.model(), user("<|im_end|><think>")))),
            "[<|im_start|>]<|im_end|>[<think>][<|im_end|>][<think>]");
}

TEST(ChatInput, JoinedPartsStayText) {
  const Rig rig("{% for m in messages %}{{ m.content }}{% endfor %}");
  const ChatPrompt prompt = must(prompt_of(
      rig.model(), R"([{"role": "user", "content": ["<|im_end|>", {"text": "<|im_start|>"}]}])", "",
      true));
  EXPECT_EQ(spelled(rig, prompt), "<|im_end|>\n<|im_start|>");
  // The line end between them is the core's.
  ASSERT_EQ(prompt.input.size(), 2u);
  EXPECT_EQ(prompt.input[0].end, 10u);
  EXPECT_EQ(prompt.input[1].begin, 11u);
}

// --- what is no message --------------------------------------------------------------------------

TEST(ChatInput, ToolsAndKwargsStayText) {
  const auto shown = [](const std::string& source, std::string_view kwargs) {
    const Rig rig({"<|im_start|>", "<|im_end|>", "<|extra_5|>", "<|True|>", "<|None|>", "<|1.5|>"},
                  {{"tokenizer.chat_template", source + "<|im_end|>"}});
    return spelled(rig, must(prompt_of(rig.model(), user("Hi"), kwargs)));
  };
  EXPECT_EQ(shown("{{ x }}", R"({"x": "<|im_end|>"})"), "<|im_end|>[<|im_end|>]");
  EXPECT_EQ(shown("{{ bos_token }}", R"({"bos_token": "<|im_end|>"})"), "<|im_end|>[<|im_end|>]");
  EXPECT_EQ(shown("{% for key in tools[0] %}{{ '<' ~ key ~ '>' }}{% endfor %}",
                  R"({"tools": [{"|im_end|": 1}]})"),
            "<|im_end|>[<|im_end|>]");
  EXPECT_EQ(shown("{% for key, value in tools[0].items() %}{{ '<' ~ key ~ '>' }}{% endfor %}",
                  R"({"tools": [{"|im_end|": 1}]})"),
            "<|im_end|>[<|im_end|>]");
  EXPECT_EQ(shown("{{ '<' ~ tools[0].function.name ~ '>' }}",
                  R"({"tools": [{"function": {"name": "|im_end|"}}]})"),
            "<|im_end|>[<|im_end|>]");
  EXPECT_EQ(shown("{{ tools | tojson }}", R"({"tools": [{"<|im_end|>": "<|im_start|>\u00fc"}]})"),
            "[{\"<|im_end|>\": \"<|im_start|>\u00fc\"}][<|im_end|>]");
  EXPECT_EQ(shown("{{ '<|extra_' ~ n ~ '|>' }}", R"({"n": 5})"), "<|extra_5|>[<|im_end|>]");
  EXPECT_EQ(shown("{{ '<|extra_' ~ (n + 1) ~ '|>' }}", R"({"n": 4})"), "<|extra_5|>[<|im_end|>]");
  EXPECT_EQ(shown("<|{{ n }}|>", R"({"n": true})"), "<|True|>[<|im_end|>]");
  EXPECT_EQ(shown("<|{{ n }}|>", R"({"n": null})"), "<|None|>[<|im_end|>]");
  EXPECT_EQ(shown("<|{{ n }}|>", R"({"n": 1.5})"), "<|1.5|>[<|im_end|>]");
  // The template's own number.
  EXPECT_EQ(shown("{% set n = 5 %}<|extra_{{ n }}|>", "{}"), "[<|extra_5|>][<|im_end|>]");
}

TEST(ChatInput, TheFilesTokensAreTheTemplates) {
  const Rig rig({"<s>", "</s>"},
                {{"tokenizer.chat_template", "{{ bos_token }}{{ messages[0].content }}"}}, false,
                256);
  EXPECT_EQ(spelled(rig, must(prompt_of(rig.model(), user("<s>")))), "[<s>]<s>");
}

// --- roles ---------------------------------------------------------------------------------------

constexpr const char* kRoleTokens =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";

TEST(ChatInput, RolesThatAreKnownCompleteTokens) {
  const Strings roles = {"system", "developer",     "user",     "assistant", "model",
                         "tool",   "tool_response", "function", "ipython",   "observation"};
  Strings control = {"<|foo|>", "<|User|>"};
  for (const std::string& role : roles) control.push_back("<|" + role + "|>");
  const Rig rig(control, {{"tokenizer.chat_template", kRoleTokens}});
  for (const std::string& role : roles) {
    const ChatPrompt prompt = must(prompt_of(rig.model(), "[" + message(role, "<|user|>") + "]"));
    EXPECT_EQ(spelled(rig, prompt), "[<|" + role + "|>]<|user|>");
    EXPECT_TRUE(prompt.warnings.empty());
  }
}

TEST(ChatInput, OtherRolesAreTextAndAWarningNamesTheToken) {
  const Rig rig({"<|foo|>", "<|user|>"}, {{"tokenizer.chat_template", kRoleTokens}});
  const std::string chat = "[" + message("user", "a") + "," + message("foo", "b") + "," +
                           message("foo", "c") + "," + message("bar", "<|foo|>") + "]";
  const ChatPrompt prompt = must(prompt_of(rig.model(), chat));
  EXPECT_EQ(spelled(rig, prompt), "[<|user|>]a<|foo|>b<|foo|>c<|bar|><|foo|>");
  ASSERT_EQ(prompt.warnings.size(), 1u);
  EXPECT_EQ(prompt.warnings[0].code, NoteCode::unknown_role);
  EXPECT_EQ(prompt.warnings[0].message,
            "messages[1].role is 'foo', which is no role that Sluice knows: <|foo|> stays text");
  // A role that is a token by itself is no mistake that a warning would mend.
  const ChatPrompt whole = must(prompt_of(rig.model(), "[" + message("<|user|>", "a") + "]"));
  EXPECT_EQ(spelled(rig, whole), "<|<|user|>|>a");
  EXPECT_TRUE(whole.warnings.empty());
}

TEST(ChatInput, OnlyAMessagesOwnRoleIsOne) {
  const Rig rig({"<|user|>"},
                {{"tokenizer.chat_template", "<|{{ messages[0].inner.role }}|><|{{ role }}|>"}});
  const ChatPrompt prompt = must(prompt_of(
      rig.model(), R"([{"role": "user", "inner": {"role": "user"}}])", R"({"role": "user"})"));
  EXPECT_EQ(spelled(rig, prompt), "<|user|><|user|>");
}

// As if all of the prompt were the template's.
TEST(ChatInput, OrdinaryChatsHaveTheTokensOfTheirText) {
  struct Case {
    Strings control;
    std::string source;
  };
  const Case cases[] = {
      {{"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"},  // Phi-4-mini
       "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + "
       "'<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"},
      {{"[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>"},  // GLM-4
       "[gMASK]<sop>{% for item in messages %}{% set role = item.role %}"
       "{{ '<|' + role + '|>\n' }}{{ item.content }}{% endfor %}<|assistant|>"},
      {{"[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"},  // EXAONE
       "{% for message in messages %}{% set role = message['role'] %}{{ '[|' + role + '|]' }}"
       "{{ message.content }}{{ '[|endofturn|]\n' }}{% endfor %}[|assistant|]"},
      {{"<|system|>", "<|user|>", "<|assistant|>", "</s>"},  // zephyr
       "{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>\n' + "
       "message['content'] + '</s>' }}{% else %}{{ '<|' ~ message.role ~ '|>\n' + "
       "message['content'] + '</s>' }}{% endif %}{% endfor %}{{ '<|assistant|>' }}"},
  };
  const std::string chat = "[" + message("system", "Be brief.") + "," + message("user", "Hi\n") +
                           "," + message("assistant", "<b>Yes</b> | [no]") + "," +
                           message("user", "Go") + "]";
  for (const Case& each : cases) {
    const Rig rig(each.control, {{"tokenizer.chat_template", each.source}});
    const ChatPrompt prompt = must(prompt_of(rig.model(), chat));
    EXPECT_EQ(prompt.tokens, rig.tokenizer->encode(prompt.text, true)) << prompt.text;
    EXPECT_GT(prompt.text.size(), prompt.tokens.size());
    EXPECT_TRUE(prompt.warnings.empty());
  }
}

// --- the text that the model goes on with --------------------------------------------------------

std::string continued(const std::string& source, std::string_view content, size_t renderings) {
  const Rig rig(source);
  const ChatPrompt prompt = must(prompt_of(
      rig.model(), "[" + message("user", "the end") + "," + message("assistant", content) + "]",
      R"({"continue_final_message": true})"));
  EXPECT_EQ(prompt.renderings, renderings);
  return spelled(rig, prompt);
}

TEST(ChatPrefill, EndsWhereTheTextEnds) {
  const std::string turns =
      "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}";
  const std::string trims =
      "{% for m in messages %}<|im_start|>{{ m.content | trim }}<|im_end|>{% endfor %}";
  const std::string before = "[<|im_start|>]the end[<|im_end|>][<|im_start|>]";
  EXPECT_EQ(continued(turns, "end", 1), before + "end");
  EXPECT_EQ(continued(turns, "<|im_end", 1), before + "<|im_end");
  EXPECT_EQ(continued(turns, " a ", 1), before + " a ");
  EXPECT_EQ(continued(trims, " a ", 1), before + "a");
  EXPECT_EQ(continued(turns, "", 2), before);
  EXPECT_EQ(continued(trims, "", 2), before);
  EXPECT_EQ(continued(trims, " \n", 2), before);
  EXPECT_EQ(continued(turns, "  ", 1), before + "  ");
}

// Its reasoning is shown in another place than what follows.
TEST(ChatPrefill, EndsBehindReasoningThatIsComplete) {
  const std::string source =
      "{% for m in messages %}<|im_start|>{% if '</think>' in m.content %}<think>"
      "{{ m.content.split('</think>')[0].split('<think>')[-1] }}</think>\n"
      "{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %}<|im_end|>"
      "{% endfor %}";
  const std::string before = "[<|im_start|>]the end[<|im_end|>][<|im_start|>]";
  EXPECT_EQ(continued(source, "<think>a</think>", 2), before + "<think>a</think>\n");
  EXPECT_EQ(continued(source, "<think>a</think>b", 1), before + "<think>a</think>\nb");
}

TEST(ChatPrefill, MayBeAPart) {
  const Rig rig(
      "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}<|im_end|>"
      "{% endfor %}");
  const auto shown = [&](std::string_view last) {
    return spelled(rig, must(prompt_of(rig.model(),
                                       concat(R"([{"role": "assistant", "content": [{"text": "a"},
                                                 {"text": ")",
                                              last, R"("}, {"type": "image"}]}])"),
                                       R"({"continue_final_message": true})")));
  };
  EXPECT_EQ(shown("b"), "ab");
  EXPECT_EQ(shown(""), "a");
}

TEST(ChatPrefill, ATextThatIsNotShownIsAnError) {
  for (const char* source : {"none", "{{ messages[1].content | length }}"}) {
    const Rig rig(source);
    for (const char* content : {"", "text"}) {
      const auto prompt = prompt_of(
          rig.model(), "[" + message("user", "a") + "," + message("assistant", content) + "]",
          R"({"continue_final_message": true})");
      ASSERT_FALSE(prompt) << prompt->text;
      EXPECT_EQ(prompt.error().code, Code::invalid_argument);
      EXPECT_NE(prompt.error().message.find("doesn't show the text"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sluice
