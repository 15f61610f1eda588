// sluice man: writes the manual page from CLI11's options.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "app/exit_status.h"
#include "app/help.h"
#include "app/output.h"
#include "base/format.h"
#include "commands/commands.h"
#include "terminal/command.h"

namespace sluice::cli {
namespace {

constexpr char kManualFooter[] = R"(Prints the manual page in the format of man(7).

Examples:
  sluice man | man -l -
  sluice man > /usr/local/share/man/man1/sluice.1)";

// Escapes a text for roff: a dash doesn't become a hyphen, no line is a request, and JSON has
// spaces where its lines may be broken.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty() || out.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    if (out.ends_with(",\"")) out.insert(out.size() - 1, " ");
  }
  return out;
}

std::string bold(std::string_view text) { return concat("\\fB", escaped(text), "\\fR"); }

size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Formats lines of a footer: rows like "  NAME  text" or "  NAME", whose text may continue in lines
// with a deeper indent, become a list; other rows, which are commands, stay unchanged; the rest is
// filled.
std::string filled(const std::string& footer) {
  std::vector<std::string> lines;
  std::istringstream stream(footer);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  enum class Kind : uint8_t { text, row, command };
  Kind before = Kind::text;
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const bool begins_row = indent_of(line) == 2;
    const size_t name_end = std::min(line.find("  ", 2), line.size());
    const bool goes_on = i + 1 < lines.size() && indent_of(lines[i + 1]) > 2;
    const Kind kind = begins_row ? name_end < line.size() || goes_on ? Kind::row : Kind::command
                      : indent_of(line) > 2 ? before
                                            : Kind::text;
    if (before == Kind::command && kind != before) out += ".in\n.fi\n";
    if (before == Kind::row && kind == Kind::text) out += ".PP\n";
    if (kind == Kind::command && kind != before) out += ".PP\n.nf\n.in 2n\n";
    before = kind;
    if (kind == Kind::row && begins_row) {
      out += concat(".TP\n", bold(line.substr(2, name_end - 2)), "\n");
      const std::string_view behind = line.substr(name_end);
      if (!behind.empty()) out += concat(escaped(behind.substr(indent_of(behind))), "\n");
    } else {
      out += concat(escaped(line.substr(indent_of(line))), "\n");
    }
  }
  return before == Kind::command ? out + ".in\n.fi\n" : out;
}

// The same for all paragraphs of a text.
std::string paragraphs(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find("\n\n", at), text.size());
    out += concat(".PP\n", filled(text.substr(at, end - at)));
    at = end + 2;
  }
  return out;
}

std::string options_of(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    const bool positional = option->get_positional();
    out += concat(".TP\n", bold(positional ? option->get_name(true) : names_and_value(*option)),
                  "\n", escaped(option->get_description()), "\n");
  }
  return out;
}

// The footer without the part that all commands share, which the page has once at its end.
std::string own_footer(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.substr(0, std::min(footer.find("\n\nExit status:"), footer.size()));
}

// A paragraph of the program's footer, as a section if its first line is a heading ("Examples:").
std::string section(const std::string& paragraph) {
  const size_t end = paragraph.find('\n');
  if (end == std::string::npos || paragraph[end - 1] != ':') return paragraphs(paragraph);
  std::string heading = paragraph.substr(0, end - 1);
  for (char& c : heading) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return concat(".SH ", heading, "\n", filled(paragraph.substr(end + 1)));
}

std::string manual(const CLI::App& program) {
  std::string out =
      concat(".TH SLUICE 1 \"\" \"sluice " SLUICE_VERSION "\" \"User Commands\"\n.SH NAME\n",
             escaped(program.get_description()), "\n.SH SYNOPSIS\n.B sluice\n",
             "COMMAND [OPTION]...\n.SH COMMANDS\n");
  for (const CLI::App* command : program.get_subcommands({})) {
    const std::string text = command->get_description();  // sluice run - continue a text ...
    out += concat(".SS ", escaped(text), "\n.B sluice ", command->get_name(), "\n");
    for (const std::string& word : usage_words(*command)) out += escaped(word) + "\n";
    out += concat(options_of(*command), paragraphs(own_footer(*command)));
    if (command->get_name() == "chat")
      out += concat(".PP\nThese lines are commands:\n", filled(terminal::commands_help()));
  }
  std::string footer = program.get_footer();
  for (size_t end; !footer.empty(); footer.erase(0, end + 2)) {
    end = std::min(footer.find("\n\n"), footer.size());
    out += section(footer.substr(0, end));
    if (end == footer.size()) break;
  }
  return out;
}

}  // namespace

void add_manual(CLI::App& program, int& status) {
  CLI::App* app = add_command(program, "man", "print the manual page", kManualFooter);
  app->callback([&program, &status] {
    write_out(manual(program));
    status = kDone;
  });
}

}  // namespace sluice::cli
