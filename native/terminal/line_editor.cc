// Lines edited by libedit, which reads characters here: so that signals are seen at once, a text
// can stand in the line beforehand, and a pasted text stays one message.
#include "app/descriptor_io.h"
#include "app/output.h"
#include "terminal/line_reader.h"

#ifdef SLUICE_LIBEDIT

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/format.h"
#include "base/utf8.h"
#include "terminal/history.h"
#include "terminal/signals.h"

namespace sluice::terminal {
namespace {

constexpr wchar_t kInsertKey = 0x1c;  // Ctrl-\, which a terminal turns into a signal
constexpr std::string_view kPasteEnd = "\033[201~";
constexpr size_t kMostPasted = size_t{4} << 20;

std::wstring wide(std::string_view text) {
  std::wstring out;
  while (!text.empty()) {
    const Utf8Char c = utf8_decode(text);
    out += static_cast<wchar_t>(c.valid ? c.code_point : 0xfffd);
    text.remove_prefix(c.length);
  }
  return out;
}

std::string narrow(std::wstring_view text) {
  std::string out;
  for (const wchar_t c : text) utf8_append(out, static_cast<uint32_t>(c));
  return utf8_sanitize(out);
}

class EditedLines : public LineReader {
 public:
  EditedLines(FILE* in, FILE* out, int descriptor)
      : out_(out),
        descriptor_(descriptor),
        edit_(el_init_fd("sluice", in, out, stderr, STDIN_FILENO, descriptor, STDERR_FILENO)),
        history_(history_winit()) {}
  ~EditedLines() override {
    if (edit_ != nullptr) el_end(edit_);
    if (history_ != nullptr) history_wend(history_);
    std::fclose(out_);
  }
  EditedLines(const EditedLines&) = delete;
  EditedLines& operator=(const EditedLines&) = delete;

  bool usable() const { return edit_ != nullptr && history_ != nullptr; }

  void set_up(const std::vector<std::string>& entries) {
    el_wset(edit_, EL_CLIENTDATA, this);
    el_wset(edit_, EL_GETCFN, &EditedLines::on_read);
    el_wset(edit_, EL_PROMPT, &EditedLines::on_prompt);
    el_wset(edit_, EL_EDITOR, L"emacs");
    HistEventW event = {};
    history_w(history_, &event, H_SETSIZE, static_cast<int>(HistoryFile::kMostEntries));
    el_wset(edit_, EL_HIST, history_w, history_);
    for (const std::string& entry : entries) remember(entry);
    el_wset(edit_, EL_ADDFN, L"sluice-insert", L"insert a text", &EditedLines::on_insert);
    el_wset(edit_, EL_ADDFN, L"sluice-paste", L"insert a pasted text", &EditedLines::on_paste);
    const wchar_t insert_key[] = {kInsertKey, 0};
    const std::pair<const wchar_t*, const wchar_t*> keys[] = {
        {insert_key, L"sluice-insert"},       {L"\033[200~", L"sluice-paste"},
        {L"\033[3~", L"ed-delete-next-char"}, {L"\033[H", L"ed-move-to-beg"},
        {L"\033[F", L"ed-move-to-end"},       {L"\033[1~", L"ed-move-to-beg"},
        {L"\033[4~", L"ed-move-to-end"},      {L"\033OH", L"ed-move-to-beg"},
        {L"\033OF", L"ed-move-to-end"},       {L"\033[1;5C", L"em-next-word"},
        {L"\033[1;5D", L"ed-prev-word"},      {L"\022", L"em-inc-search-prev"},
        {L"\027", L"ed-delete-prev-word"},
    };
    for (const auto& [key, function] : keys) el_wset(edit_, EL_BIND, key, function, nullptr);
    el_source(edit_, nullptr);  // the user's ~/.editrc
  }

  LineRead read(const std::string& prompt, const std::string& prefilled) override {
    prompt_ = wide(prompt);
    prefilled_ = wide(safe_text(prefilled));
    insert_ = !prefilled_.empty();
    pasted_.clear();
    // Text that is typed as soon as the prompt is shown is edited, too.
    el_wset(edit_, EL_PREP_TERM, 1);
    cli::write_to(descriptor_, "\033[?2004h");  // pasted texts are marked
    int count = 0;
    const wchar_t* line = el_wgets(edit_, &count);
    LineRead read;
    if (line != nullptr && count > 0) {
      read = {LineRead::Kind::line, narrow({line, static_cast<size_t>(count)})};
      if (read.text.ends_with('\n')) read.text.pop_back();
      read.pasted = !pasted_.empty() && read.text.starts_with(pasted_);
    } else if (ending() == 0 && take_interrupt()) {
      const LineInfoW* left = el_wline(edit_);
      read = {LineRead::Kind::interrupted, narrow({left->buffer, left->lastchar})};
    }
    if (ending() == 0) {
      cli::write_to(descriptor_,
                    read.kind == LineRead::Kind::line ? "\033[?2004l" : "\033[?2004l\n");
    }
    return read;
  }

  void remember(const std::string& entry) override {
    HistEventW event = {};
    const std::wstring text = wide(entry);
    if (history_w(history_, &event, H_FIRST) == 0 && event.str != nullptr && text == event.str)
      return;
    history_w(history_, &event, H_ENTER, text.c_str());
  }

 private:
  static EditedLines& of(EditLine* edit) {
    void* self = nullptr;
    el_wget(edit, EL_CLIENTDATA, &self);
    return *static_cast<EditedLines*>(self);
  }

  static wchar_t* on_prompt(EditLine* edit) { return of(edit).prompt_.data(); }

  static int on_read(EditLine* edit, wchar_t* c) { return of(edit).next(*c); }

  static unsigned char on_insert(EditLine* edit, int) {
    EditedLines& self = of(edit);
    const std::wstring text = std::exchange(self.prefilled_, L"");
    if (text.empty() || el_winsertstr(edit, text.c_str()) != 0) return CC_ERROR;
    return CC_REFRESH;
  }

  // Inserts what is pasted, with its line ends: only Enter itself ends the line.
  static unsigned char on_paste(EditLine* edit, int) {
    EditedLines& self = of(edit);
    std::string pasted;
    while (!pasted.ends_with(kPasteEnd)) {
      wchar_t c = 0;
      if (self.next(c) != 1) return CC_ERROR;  // the line ends at the next character
      utf8_append(pasted, static_cast<uint32_t>(c));
      // A text that is too long is cut at its beginning: its end may be the mark.
      if (pasted.size() > kMostPasted)
        pasted.erase(kMostPasted - kPasteEnd.size(), pasted.size() - kMostPasted);
    }
    pasted.resize(pasted.size() - kPasteEnd.size());
    for (size_t i = 0; i < pasted.size(); ++i) {
      if (pasted[i] == '\r' && (i + 1 == pasted.size() || pasted[i + 1] != '\n')) pasted[i] = '\n';
    }
    pasted = safe_text(pasted);
    while (pasted.ends_with('\n')) pasted.pop_back();
    const LineInfoW* line = el_wline(edit);
    if (line->cursor == line->buffer)
      self.pasted_ = pasted.substr(0, pasted.find_first_of(" \t\n"));
    if (!pasted.empty() && el_winsertstr(edit, wide(pasted).c_str()) != 0) return CC_ERROR;
    return CC_REFRESH;
  }

  // The next character for libedit: 1; 0: there are no more; -1: Ctrl-C.
  int next(wchar_t& c) {
    while (true) {
      if (ending() != 0) return 0;
      if (interrupted()) {
        errno = EINTR;
        return -1;
      }
      if (take_continue()) {  // the shell has set the terminal as it likes it
        el_wset(edit_, EL_PREP_TERM, 0);
        el_wset(edit_, EL_PREP_TERM, 1);
        el_wset(edit_, EL_REFRESH);
      }
      if (take_resize()) redraw();
      if (std::exchange(insert_, false)) {
        c = kInsertKey;
        return 1;
      }
      if (take_character(c)) return 1;
      if (!wait_for_input(bytes_)) return 0;
    }
  }

  // Takes a whole character from what was typed. An invalid byte becomes U+FFFD.
  bool take_character(wchar_t& c) {
    if (bytes_.empty() || utf8_incomplete_tail(bytes_) == bytes_.size()) return false;
    const Utf8Char first = utf8_decode(bytes_);
    c = static_cast<wchar_t>(first.valid ? first.code_point : 0xfffd);
    bytes_.erase(0, first.length);
    return true;
  }

  // Draws the line again after the terminal's width has changed: it has wrapped the rows anew.
  void redraw() {
    const size_t columns = cli::terminal_columns(descriptor_);
    const LineInfoW* line = el_wline(edit_);
    size_t rows = 0, column = prompt_.size();
    for (const wchar_t* at = line->buffer; at < line->cursor; ++at) {
      if (*at == L'\n') {
        rows += column / columns + 1;
        column = 0;
      } else {
        column += static_cast<size_t>(std::max(0, ::wcwidth(*at)));
      }
    }
    rows += column / columns;
    cli::write_to(descriptor_, concat("\r", rows > 0 ? concat("\033[", rows, "A") : "", "\033[J"));
    el_resize(edit_);
    el_wset(edit_, EL_REFRESH);
  }

  FILE* out_;
  int descriptor_;
  EditLine* edit_;
  HistoryW* history_;
  std::wstring prompt_;
  std::wstring prefilled_;
  bool insert_ = false;  // the prefilled text is to be inserted
  std::string bytes_;    // typed, and not yet given to libedit
  std::string pasted_;   // the first word of what was pasted at the line's beginning
};

}  // namespace

std::unique_ptr<LineReader> edited_lines(int descriptor, const std::vector<std::string>& history) {
  // Lines are UTF-8 here, whatever the locale says.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  const int copy = ::dup(descriptor);
  FILE* out = copy >= 0 ? ::fdopen(copy, "w") : nullptr;
  if (out == nullptr) return nullptr;
  auto lines = std::make_unique<EditedLines>(stdin, out, descriptor);
  if (!lines->usable()) return nullptr;
  lines->set_up(history);
  return lines;
}

}  // namespace sluice::terminal

#else

namespace sluice::terminal {

std::unique_ptr<LineReader> edited_lines(int, const std::vector<std::string>&) { return nullptr; }

}  // namespace sluice::terminal

#endif
