// Tests of what `sluice chat` is made of: Markdown, lines and commands, conversations, the history.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/private_file.h"
#include "base/format.h"
#include "terminal/command.h"
#include "terminal/conversation.h"
#include "terminal/history.h"
#include "terminal/markdown.h"
#include "terminal/turns.h"

namespace sluice::terminal {
namespace {

namespace fs = std::filesystem;

// --- Markdown --------------------------------------------------------------------------------

// Escape sequences as words: <1> is bold, <> plain.
std::string shown(std::string_view rendered) {
  std::string out;
  for (size_t i = 0; i < rendered.size(); ++i) {
    if (rendered[i] != '\033') {
      out += rendered[i];
      continue;
    }
    const size_t end = rendered.find('m', i);
    std::string codes(rendered.substr(i + 2, end - i - 2));
    if (codes.starts_with("0")) codes.erase(0, codes.size() > 1 ? 2 : 1);
    out += "<" + codes + ">";
    i = end;
  }
  return out;
}

std::string render(std::string_view text, size_t piece) {
  MarkdownFilter filter;
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) out += filter.push(text.substr(at, piece));
  return out + filter.finish();
}

// The same in pieces of every size.
std::string render(std::string_view text) {
  const std::string whole = render(text, text.size() + 1);
  for (size_t piece = 1; piece < text.size(); ++piece) EXPECT_EQ(render(text, piece), whole);
  return shown(whole);
}

TEST(Markdown, SpansAreStyled) {
  EXPECT_EQ(render("a **bold** b"), "a <1>bold<> b");
  EXPECT_EQ(render("*it* and _it_ and ***both***"), "<3>it<> and <3>it<> and <1;3>both<>");
  EXPECT_EQ(render("~~gone~~ `a*b*` ``x ` y``"), "<9>gone<> <36>a*b*<> <36>x ` y<>");
  EXPECT_EQ(render("**bold *it* `c` bold**"), "<1>bold <1;3>it<1> <1;36>c<1> bold<>");
  EXPECT_EQ(render("**a `b** c`"), "**a <36>b** c<>");
  EXPECT_EQ(render("**bold *it***!"), "<1>bold <1;3>it<1><>!");
  EXPECT_EQ(render("\u8fd9\u662f**\u7c97**\u3002"), "\u8fd9\u662f<1>\u7c97<>\u3002");
}

TEST(Markdown, MarksThatAreNoneStay) {
  for (const std::string text :
       {"2 * 3 * 4", "2*3*4", "snake_case_name", "a ** b", "**never closed", "`never closed",
        "*over\nlines*", "~5 and ~~", "5 > 3", "#tag", "-5", "--flag", "1. one",

        "| a | **b** |", "`", "\\",

        "+", "_"}) {
    EXPECT_EQ(render(text), text);
  }
  EXPECT_EQ(render("\\*plain\\* \\d \\\\"), "*plain* \\d \\\\");
}

TEST(Markdown, LinesAreMarked) {
  EXPECT_EQ(render("# Title\nText"), "<1;4>Title<>\nText");
  EXPECT_EQ(render("### A *b*\n"), "<1>A <1;3>b<1><>\n");
  EXPECT_EQ(render("- one\n  * two\n+ **3**"), "\u2022 one\n  \u2022 two\n\u2022 <1>3<>");
  EXPECT_EQ(render("> said *he*\n> > - x"),
            "<2>\u2502<> said <3>he<>\n<2>\u2502<> <2>\u2502<> \u2022 x");
  const std::string rule = render("---\n");
  EXPECT_TRUE(rule.starts_with("<2>\u2500\u2500")) << rule;
  EXPECT_EQ(render("* * *\n"), rule);
  EXPECT_EQ(render("___\n"), rule);
}

TEST(Markdown, CodeBlocksStayAsTheyAre) {
  EXPECT_EQ(render("```py\na = **b**\n# c\n\n``\n```\n*d*"),
            "<2>```py<>\na = **b**\n# c\n\n``\n<2>```<>\n<3>d<>");
  EXPECT_EQ(render("~~~~\n~~~\n```\n~~~~\nx"), "<2>~~~~<>\n~~~\n```\n<2>~~~~<>\nx");
  EXPECT_EQ(render("```\nnot closed"), "<2>```<>\nnot closed");
  EXPECT_EQ(render("  ```\n  x\n  ```"), "<2>  ```<>\n  x\n<2>  ```<>");
}

TEST(Markdown, PlainTextIsNotHeldBack) {
  MarkdownFilter filter;
  EXPECT_EQ(filter.push("Once"), "Once");
  EXPECT_EQ(filter.push(" upon **a"), " upon ");
  EXPECT_EQ(shown(filter.push("** time")), "<1>a<> time");
  // A mark that is never closed costs a few hundred bytes of delay, not the text.
  std::string out = filter.push(" *");
  for (int i = 0; i < 1000; ++i) out += filter.push("x");
  EXPECT_GT(out.size(), 500u);
  EXPECT_EQ(out + filter.finish(), " *" + std::string(1000, 'x'));
}

TEST(Markdown, LongHostileLinesEnd) {
  std::string marks;
  for (int i = 0; i < 20000; ++i) marks += i % 3 == 0 ? "*a " : i % 3 == 1 ? "_b" : "`";
  MarkdownFilter filter;
  std::string out = filter.push(marks);
  out += filter.finish();
  EXPECT_GT(out.size(), 20000u);
}

TEST(Markdown, NothingControlsTheTerminal) {
  const std::string all = render(safe_text("```\n\033]0;x\007\n```\n**\033[2J**"));
  EXPECT_EQ(all, "<2>```<>\n?]0;x?\n<2>```<>\n<1>?[2J<>");
}

// --- lines and commands ------------------------------------------------------------------------

std::string text_of(MessageLines& lines, const std::vector<std::string>& typed) {
  for (size_t i = 0; i < typed.size(); ++i) {
    const auto whole = lines.add(typed[i]);
    EXPECT_EQ(whole.has_value(), i + 1 == typed.size());
    EXPECT_EQ(lines.begun(), !whole);
    if (whole) return (whole->verbatim ? "\"" : "") + whole->text;
  }
  return "?";
}

TEST(ChatLines, MessagesMayHaveSeveral) {
  MessageLines lines;
  EXPECT_EQ(text_of(lines, {"one"}), "one");
  EXPECT_EQ(text_of(lines, {"one\\", ""}), "one\n");
  EXPECT_EQ(text_of(lines, {"one\\", " two\\", "three"}), "one\n two\nthree");
  EXPECT_EQ(text_of(lines, {"\"\"\"", "/a\\", "", "b", "\"\"\""}), "\"/a\\\n\nb");
  EXPECT_EQ(text_of(lines, {"\"\"\"a", "b\"\"\""}), "\"a\nb");
  EXPECT_EQ(text_of(lines, {"\"\"\"a\"\"\""}), "\"a");
  EXPECT_EQ(text_of(lines, {"a \"\"\""}), "a \"\"\"");
  EXPECT_FALSE(lines.add("\"\"\"").has_value());
  lines.clear();
  EXPECT_EQ(text_of(lines, {"next"}), "next");
}

TEST(Lines, APastedTextIsNoCommand) {
  MessageLines lines;
  EXPECT_TRUE(lines.add("/usr/bin", true)->verbatim);
  EXPECT_FALSE(lines.add("/help")->verbatim);
  EXPECT_FALSE(lines.add("/a\\", true).has_value());
  EXPECT_TRUE(lines.add("b")->verbatim);
  // Pasted into a line that was begun by hand.
  EXPECT_FALSE(lines.add("/system a\\").has_value());
  EXPECT_FALSE(lines.add("b", true)->verbatim);
}

TEST(Lines, OtherProgramsWordsAreKnown) {
  EXPECT_EQ(read_command("/clear")->name, Command::Name::reset);
  EXPECT_EQ(read_command("/bye")->name, Command::Name::quit);
  EXPECT_EQ(read_command("/exit")->name, Command::Name::quit);
  EXPECT_FALSE(read_command("/bye now").has_value());
  EXPECT_TRUE(is_farewell(" exit "));
  EXPECT_TRUE(is_farewell("quit"));
  EXPECT_FALSE(is_farewell("exit now"));
  EXPECT_FALSE(is_farewell("Exit"));
}

TEST(ChatCommands, AreRead) {
  EXPECT_TRUE(is_command("/help"));
  EXPECT_FALSE(is_command("//etc"));
  EXPECT_FALSE(is_command("a /help"));
  EXPECT_EQ(message_of("//etc"), "/etc");
  EXPECT_EQ(typed_of("/etc"), "//etc");
  EXPECT_EQ(message_of(typed_of("plain")), "plain");
  const auto system = read_command("/system  Be kind. \n Always. ");
  ASSERT_TRUE(system);
  EXPECT_EQ(system->name, Command::Name::system);
  EXPECT_EQ(system->argument, "Be kind. \n Always.");
  EXPECT_EQ(read_command("/edit")->argument, "");
  EXPECT_EQ(read_command("/exit")->name, Command::Name::quit);
  for (const char* wrong : {"/", "/foo", "/sys", "/reset now", "/save", "/load  "}) {
    const auto command = read_command(wrong);
    ASSERT_FALSE(command) << wrong;
    EXPECT_EQ(command.error().code, Code::invalid_argument);
  }
  EXPECT_NE(read_command("/foo\033").error().message.find("/help"), std::string::npos);
  EXPECT_EQ(read_command("/foo\033").error().message.find('\033'), std::string::npos);
  for (const char* each : {"/system", "/reset", "/retry", "/edit", "/save", "/load", "/stats",
                           "/set", "/tokens", "/help", "/quit"})
    EXPECT_NE(commands_help().find(each), std::string::npos);
}

// --- conversations -----------------------------------------------------------------------------

Conversation small() {
  Conversation made;
  made.add({"user", "Hi \"you\"\n", ""});
  made.add({"assistant", "Hello.", "A greeting."});
  made.add({"user", "\u00fc", ""});
  return made;
}

TEST(Conversations, AreChanged) {
  Conversation made = small();
  EXPECT_FALSE(made.answered());
  EXPECT_EQ(made.user_messages(), 2u);
  EXPECT_EQ(made.user_message(1), 0u);
  EXPECT_EQ(made.user_message(2), 2u);
  EXPECT_FALSE(made.user_message(0));
  EXPECT_FALSE(made.user_message(3));
  made.set_system("Be kind.");
  made.set_system("Be brief.");
  EXPECT_EQ(made.messages().front(), (Message{"system", "Be brief.", ""}));
  EXPECT_EQ(made.messages().size(), 4u);
  made.cut(3);
  EXPECT_TRUE(made.answered());
  made.reset();
  EXPECT_EQ(made.messages().size(), 1u);
  made.set_system("");
  EXPECT_TRUE(made.empty());
}

TEST(Conversations, AreTheSameInJson) {
  const Conversation made = small();
  const auto again = read_conversation(conversation_json(made));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->messages(), made.messages());
  const auto parts = read_conversation(
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"text":"b"}]},
          {"role":"assistant","content":null}]})");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->messages()[0].content, "a\nb");
  EXPECT_EQ(parts->messages()[1].content, "");
  Conversation broken;
  broken.add({"user", "\xff", ""});
  EXPECT_NE(conversation_json(broken).find("\xef\xbf\xbd"), std::string::npos);
}

TEST(Conversations, WrongJsonIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no JSON"},
      {"[{]", "no JSON"},
      {"3", "neither a list"},
      {R"({"message":[]})", "neither a list"},
      {"[3]", "message 1"},
      {R"([{"content":"a"}])", "message 1"},
      {R"([{"role":"user","content":"a"},{"role":"tool","content":"a"}])", "'tool'"},
      {R"([{"role":"user","content":{"a":1}}])", "content of message 1"},
      {R"([{"role":"user","content":[{"type":"image"}]}])", "content of message 1"},
      {R"([{"role":"user","content":["a"]}])", "content of message 1"},
      {R"([{"role":"assistant","content":"","tool_calls":[{}]}])", "tools"},
      {R"([{"role":"assistant","content":"","reasoning_content":1}])", "reasoning_content"},
      {R"([{"role":"user","content":"a"},{"role":"system","content":"a"}])", "message 2"},
  };
  for (const auto& [text, why] : cases) {
    const auto read = read_conversation(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::bad_file);
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  }
}

TEST(Conversations, DeepJsonIsRefused) {
  const auto nested = [](size_t depth) {
    return R"([{"role":"user","content":"a","x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}]";
  };
  EXPECT_TRUE(read_conversation(nested(62)));
  for (const std::string& text : {nested(63), nested(400'000), std::string(100'000, '[')}) {
    const auto read = read_conversation(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "it has values in more than 64 others");
  }
}

TEST(Conversations, OfMillionsOfPartsAreRefused) {
  std::string lists = "[[]";
  for (int i = 0; i < 500'000; ++i) lists += ",[]";
  const auto read = read_conversation(lists + "]");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "its JSON has more than 1000000 parts");
}

TEST(Conversations, AreShownAgain) {
  const std::vector<Message> messages = {{"user", "a\033[2Jb\n**c**", ""},
                                         {"assistant", "**d**\n1\n2\n3", "hm"}};
  EXPECT_EQ(
      turns_text(messages, false, 0),
      "user:\na?[2Jb\n**c**\n\nassistant:\n(thinking)\nhm\n(end of thinking)\n\n**d**\n1\n2\n3\n");
  EXPECT_EQ(shown(turns_text(messages, true, 2)),
            "<2>user:<>\na?[2Jb\n**c**\n\n<2>assistant:<>\n<1>d<>\n1 ...\n");
  // A line that is too long, in the middle of a character.
  const std::string long_line = "x" + std::string(79, 'y') + "\u00e9" + std::string(79, 'z');
  const std::vector<Message> wide = {{"user", long_line.substr(1), ""}};
  EXPECT_EQ(turns_text(wide, false, 1), "user:\n" + std::string(79, 'y') + " ...\n");
  EXPECT_EQ(turns_text({}, true, 3), "");
  EXPECT_EQ(turns_text(std::vector<Message>{{"user", "", ""}}, false, 3), "user:\n");
}

TEST(Conversations, HaveLastTurns) {
  const auto of = [](std::initializer_list<const char*> roles) {
    Conversation conversation;
    for (const char* role : roles) conversation.add({role, "x", ""});
    return conversation;
  };
  const Conversation three =
      of({"system", "user", "assistant", "user", "assistant", "user", "assistant"});
  EXPECT_EQ(three.last_turns(1), 5u);
  EXPECT_EQ(three.last_turns(2), 3u);
  EXPECT_EQ(three.last_turns(3), 0u);
  EXPECT_EQ(three.last_turns(9), 0u);
  EXPECT_EQ(of({"user", "assistant", "user"}).last_turns(1), 2u);
  EXPECT_EQ(of({}).last_turns(2), 0u);
}

// --- files -------------------------------------------------------------------------------------

class ChatFiles : public testing::Test {
 protected:
  ChatFiles() {
    std::string made = (fs::temp_directory_path() / "sluice-chat-XXXXXX").string();
    folder_ = mkdtemp(made.data());
  }
  ~ChatFiles() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static mode_t mode(const fs::path& of) {
    struct stat found = {};
    return ::stat(of.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }
  static void write(const std::string& to, std::string_view text) { std::ofstream(to) << text; }

  fs::path folder_;
};

TEST_F(ChatFiles, AConversationIsSavedWholeAndPrivate) {
  const std::string file = path("chat.json");
  ASSERT_TRUE(save_conversation(small(), file));
  EXPECT_EQ(mode(file), 0600u);
  const auto again = load_conversation(file);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->messages(), small().messages());
  fs::create_symlink("chat.json", folder_ / "link");
  ASSERT_TRUE(save_conversation(Conversation(), path("link")));
  EXPECT_TRUE(load_conversation(file)->empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
  write(file, "no JSON");
  EXPECT_NE(load_conversation(file).error().message.find("chat.json"), std::string::npos);
  EXPECT_EQ(load_conversation(path("none")).error().code, Code::bad_file);
  EXPECT_EQ(load_conversation(folder_.string()).error().code, Code::bad_file);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(load_conversation(path("pipe")).error().code, Code::bad_file);
  EXPECT_EQ(save_conversation(small(), path("pipe")).error().code, Code::invalid_argument);
  EXPECT_EQ(save_conversation(small(), path("no/such")).error().code, Code::invalid_argument);
}

TEST_F(ChatFiles, TheHistoryIsPrivateAndKeepsLinesTogether) {
  const std::string file = path("state/sluice/chat_history");
  const HistoryFile history(file);
  EXPECT_TRUE(history.load().empty());
  EXPECT_EQ(mode(folder_ / "state"), 0700u);
  EXPECT_EQ(mode(folder_ / "state/sluice"), 0700u);
  const std::vector<std::string> entries = {"one", "two\nlines\\n", "\u00e9 \\", "/set temp 0"};
  for (const std::string& entry : entries) history.add(entry);
  EXPECT_EQ(mode(file), 0600u);
  EXPECT_EQ(history.load(), entries);
  fs::permissions(file, fs::perms(0644));
  EXPECT_EQ(history.load(), entries);
  EXPECT_EQ(mode(file), 0600u);
  history.add(std::string(1 << 20, 'x'));
  EXPECT_EQ(history.load(), entries);
  HistoryFile("").add("nowhere");
  EXPECT_TRUE(HistoryFile("").load().empty());
  EXPECT_TRUE(HistoryFile("/proc/no/chat_history").load().empty());
}

TEST_F(ChatFiles, TheHistoryForgetsTheOldest) {
  const HistoryFile history(path("history"));
  std::string lines;
  for (int i = 0; i < 1500; ++i) lines += std::to_string(i) + "\n";
  write(path("history"), lines + "bad \xff\n\n");
  const auto entries = history.load();
  ASSERT_EQ(entries.size(), HistoryFile::kMostEntries);
  EXPECT_EQ(entries.front(), "501");
  EXPECT_EQ(entries.back(), "bad \uFFFD");
  EXPECT_EQ(history.load(), entries);
  EXPECT_LT(fs::file_size(path("history")), lines.size());
}

TEST_F(ChatFiles, SeveralProgramsAddToOneHistory) {
  constexpr int kEach = 100;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([this] {
      const HistoryFile history(path("history"));
      for (int i = 0; i < kEach; ++i) {
        history.add("entry of a writer");
        EXPECT_TRUE(i % 10 != 0 || !history.load().empty());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(HistoryFile(path("history")).load(),
            std::vector<std::string>(4 * kEach, "entry of a writer"));
}

TEST_F(ChatFiles, TheHistoryIsInTheStateDirectory) {
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(history_path(), "/state/sluice/chat_history");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(history_path(), "/home/me/.local/state/sluice/chat_history");
  ::unsetenv("HOME");
  EXPECT_EQ(history_path(), "");
}

}  // namespace
}  // namespace sluice::terminal
