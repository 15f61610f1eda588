// Hostile templates and what they may use: the work and the memory of tests/jinja/hostile.txt, by
// the counts of the meter.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "chat/json.h"
#include "jinja/interpreter.h"
#include "support/sanitized.h"

namespace sluice::jinja {
namespace {

struct Attack {
  std::string end;
  std::string source;
};

// "@@3*text@@" is text three times.
std::string expanded(std::string source) {
  for (size_t at; (at = source.find("@@")) != std::string::npos;) {
    const size_t star = source.find('*', at);
    const size_t end = source.find("@@", at + 2);
    const int times = std::atoi(source.c_str() + at + 2);
    const std::string part = source.substr(star + 1, end - star - 1);
    std::string all;
    for (int i = 0; i < times; ++i) {
      const size_t number = part.find("#i");
      all += number == std::string::npos
                 ? part
                 : part.substr(0, number) + std::to_string(i) + part.substr(number + 2);
    }
    source.replace(at, end + 2 - at, all);
  }
  for (size_t at; (at = source.find("¶")) != std::string::npos;)
    source.replace(at, std::string_view("¶").size(), "\n");
  return source;
}

const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all = [] {
    std::vector<Attack> read;
    std::ifstream file(SLUICE_ROOT "/tests/jinja/hostile.txt");
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      if (line.starts_with('#') || space == std::string::npos) continue;
      read.push_back({line.substr(0, space), expanded(line.substr(space + 1))});
    }
    return read;
  }();
  return all;
}

Value attack_context(int big, int many) {
  const std::string json =
      R"({"s": "text", "list": [1, 2], "map": {"a": 1},
          "messages": [{"role": "user", "content": "hi"}], "big": )" +
      std::to_string(big) + R"(, "many": )" + std::to_string(many) + "}";
  return *value_from_json(json);
}

Limits small_limits() {
  Limits limits;
  limits.max_work = 400'000;
  limits.max_memory = 1'500'000;
  return limits;
}

// What one of them came to.
struct Outcome {
  std::string end;
  std::string message;
  Code code = Code::invalid_argument;
  uint64_t work = 0;
  int asked = 0;       // how often `stopped` was
  double longest = 0;  // CPU seconds between two times
};

Outcome attacked(const std::string& source, int stop_at) {
  static const Value context = attack_context(100'000, 16'000);
  const Limits limits = small_limits();
  Outcome outcome;
  RenderOptions options;
  double last = static_cast<double>(std::clock());
  const auto look = [&] {
    const auto now = static_cast<double>(std::clock());
    outcome.longest = std::max(outcome.longest, (now - last) / CLOCKS_PER_SEC);
    last = now;
  };
  options.stopped = [&] {
    look();
    return ++outcome.asked == stop_at;
  };
  const auto program = parse_program(source, limits);
  look();
  if (!program) {
    outcome.message = program.error().message;
    outcome.end = outcome.message.ends_with(" work to read") ? "source" : "error";
    return outcome;
  }
  Interpreter interpreter(**program, limits, context, options);
  const auto rendered = interpreter.run();
  look();
  outcome.work = interpreter.meter.used_work();
  if (rendered) {
    outcome.end = "ok";
    return outcome;
  }
  outcome.code = rendered.error().code;
  outcome.message = rendered.error().message;
  const bool work = outcome.message.find(" units of work") != std::string::npos;
  const bool memory = outcome.message.ends_with(" of memory");
  outcome.end = work ? "work" : memory ? "memory" : "error";
  return outcome;
}

// Each ends as its line says, and none does much more than it may.
TEST(HostileWork, EachEnds) {
  constexpr uint64_t kOneStep = 1'000'000;  // more than any one step over so little memory
  ASSERT_GT(attacks().size(), 200u);
  double longest = 0;
  std::string slowest;
  for (const Attack& attack : attacks()) {
    const std::string head = attack.source.substr(0, 160);
    const Outcome outcome = attacked(attack.source, 0);
    EXPECT_EQ(outcome.end, attack.end) << head << "\n" << outcome.message.substr(0, 200);
    EXPECT_LE(outcome.work, small_limits().max_work + kOneStep) << head;
    if (outcome.longest > longest) slowest = head;
    longest = std::max(longest, outcome.longest);
  }
  std::printf("%.0f ms of CPU at most between two looks: %s\n", longest * 1000, slowest.c_str());
}

// `stopped` ends each of them where it is asked.
TEST(HostileWork, EachCanBeStopped) {
  for (const Attack& attack : attacks()) {
    if (attack.end != "work") continue;
    for (const int stop_at : {1, 9}) {
      const Outcome outcome = attacked(attack.source, stop_at);
      const std::string head = attack.source.substr(0, 160);
      // One step may go beyond all of the work that is left.
      if (outcome.asked < stop_at && stop_at > 1) continue;
      EXPECT_EQ(outcome.asked, stop_at) << head;
      EXPECT_EQ(outcome.code, Code::aborted) << head;
      EXPECT_EQ(outcome.message, "the template was interrupted") << head;
    }
  }
}

// How many MB a template takes as a process of its own, where 32 MB are what it may take.
long megabytes(const std::string& source) {
  const pid_t child = fork();
  if (child == 0) {
    const Value context = attack_context(7'500, 112'500);
    Limits limits;
    limits.max_work = 20'000'000;
    limits.max_memory = 32 << 20;
    const auto kilobytes = [] {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss;
    };
    const long before = kilobytes();  // what the tests so far have left
    if (const auto made = Template::parse(source, limits)) (void)made->render(context);
    _exit(static_cast<int>(std::min<long>((kilobytes() - before) / 1024, 255)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << source;
  return WEXITSTATUS(status);
}

TEST(HostileWork, Memory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  for (const char* source : {
           "{% macro m(n) %}{% set b = 'x' * 999 * big %}{{ b ~ m(n - 1) }}{% endmacro %}{{ m(99) "
           "}}",
           "{% set x = 'a' * 999 * big %}{{ x ~ (x ~ (x ~ (x ~ (x ~ x)))) }}",
           "{% set x = '\\x01' * 999 * big %}{{ x|tojson|length }}",
           "{% set x = '\\x01' * 999 * big %}{{ [x]|string|length }}",
           "{{ (s[0] ~ 'a') * 999 * (big // 4) }}",
           "{{ ((s[0] ~ '<') * 999 * (big // 12))|tojson|length }}",
           "{{ ([s, 'a'] * (many // 2))|tojson|length }}",
           "{% set ns = namespace(l=[]) %}{% for i in range(9) %}"
           "{% set ns.l = ns.l + [('a ' * many).split()] %}{% endfor %}",
           "{% set ns = namespace(l=[]) %}{% for i in range(99) %}"
           "{% set ns.l = [ns.l, ('a' * many)|list] %}{% endfor %}",
           "{% set ns = namespace(l=[]) %}{% for i in range(99) %}"
           "{% set ns.l = [ns.l, range(99999)|map('string')|list] %}{% endfor %}",
           "{% set ns = namespace(l=[]) %}{% for i in range(99) %}"
           "{% set ns.l = [ns.l, ([[1]] * many)|map('list')|list] %}{% endfor %}",
       }) {
    EXPECT_LT(megabytes(source), 64) << source;
  }
}

}  // namespace
}  // namespace sluice::jinja
