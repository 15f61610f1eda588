// sluice man: writes the manual page from CLI11's options.
#include <algorithm>
#include <cctype>

#include "arguments.h"
#include "base/format.h"

namespace sluice::cli {
namespace {

constexpr char kManualFooter[] = R"(Prints the manual page in the format of man(7).

Examples:
  sluice man | man -l -
  sluice man > /usr/local/share/man/man1/sluice.1)";

// Escapes a text for roff: a dash doesn't become a hyphen, and no line is a request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty() || out.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

// Text whose lines roff must not join.
std::string verbatim(const std::string& text) { return concat(".nf\n", escaped(text), "\n.fi\n"); }

std::string options_of(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    const bool positional = option->get_positional();
    out +=
        concat(".TP\n.B ", escaped(positional ? option->get_name(true) : names_and_value(*option)),
               "\n", escaped(option->get_description()), "\n");
  }
  return out;
}

// The footer without the part that all commands share, which the page has once at its end.
std::string own_footer(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.substr(0, std::min(footer.find("\n\nExit status:"), footer.size()));
}

// A paragraph of a footer, as a section if its first line is a heading ("Examples:").
std::string section(const std::string& paragraph) {
  const size_t end = paragraph.find('\n');
  if (end == std::string::npos || paragraph[end - 1] != ':') return ".PP\n" + verbatim(paragraph);
  std::string heading = paragraph.substr(0, end - 1);
  for (char& c : heading) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return concat(".SH ", heading, "\n", verbatim(paragraph.substr(end + 1)));
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
    out += concat(options_of(*command), ".PP\n", verbatim(own_footer(*command)));
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
