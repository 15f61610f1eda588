// Reads the file of a trace (trace_writer.h), by whomever it was written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token.h"
#include "options/options.h"
#include "sample/raw_logits.h"
#include "weights/source_file.h"

namespace sluice::cli {

struct TraceToken {
  TokenId id = kNoToken;
  std::string text;              // what it added to the text; UTF-8
  std::optional<RawLogits> raw;  // none: the file doesn't say what it was chosen from
};

// Holds of the tokens before only their ids and pieces. All of the file may be hostile: its texts
// are valid UTF-8, and shown through printable(), safe_text() or text_in_quotes().
class TraceReader {
 public:
  // Reads the first line. Fails with bad_file if it is no regular file or no trace.
  static Result<TraceReader> open(const std::string& path);

  // The next token; none at the end. Fails with bad_file, naming the line. A last line that is not
  // complete is left out: the run was ended while it was written.
  Result<std::optional<TraceToken>> next();
  // The byte at which the next line begins. read_at() reads again what next() gave from there,
  // after so many tokens.
  uint64_t place() const { return next_line_; }
  Result<TraceToken> read_at(uint64_t place, size_t number) const;

  int64_t n_vocab() const { return n_vocab_; }
  std::span<const TokenId> suppressed() const { return suppressed_; }
  const GenerateOptions& options() const { return options_; }
  // The tokens of the prompt, and behind them those that next() gave.
  std::span<const TokenId> tokens() const { return tokens_; }
  size_t prompt_tokens() const { return prompt_tokens_; }
  size_t answer_begin() const { return answer_begin_; }  // as Session::answer_begin()
  const std::string& prompt() const { return prompt_; }
  // The text of a token; "" if no line so far names it.
  std::string_view piece(TokenId id) const;
  bool is_cut() const { return cut_; }  // the last line was not complete

 private:
  TraceReader(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
  std::unexpected<Error> bad(std::string_view why) const;
  Result<std::optional<std::string>> read_line(uint64_t& at, size_t most, bool& whole) const;
  Status read_start();

  std::string path_;
  File file_;
  uint64_t next_line_ = 0;
  uint64_t n_lines_ = 0;  // that were read
  bool done_ = false;
  bool cut_ = false;
  int64_t n_vocab_ = 0;
  std::vector<TokenId> suppressed_;
  GenerateOptions options_;
  std::string prompt_;
  std::vector<TokenId> tokens_;
  size_t prompt_tokens_ = 0;
  size_t answer_begin_ = 0;
  std::unordered_map<TokenId, std::string> pieces_;
};

}  // namespace sluice::cli
