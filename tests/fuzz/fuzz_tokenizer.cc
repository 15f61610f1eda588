// Fuzzes tokenizers. With sound vocabularies any bytes are encoded and decoded to the same bytes,
// whole and as a stream. Any vocabulary is safe to build and to use. No guarded token stands where
// a byte of the text comes from input.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/vocab.h"

namespace {

using namespace sluice;

void require(bool condition) {
  if (!condition) std::abort();
}

MetadataValue text_value(std::string_view text) {
  MetadataValue value;
  value.type = ValueType::string;
  value.bytes = text;
  return value;
}

MetadataValue texts_value(const std::vector<std::string>& texts) {
  MetadataValue value;
  value.type = ValueType::array;
  value.element = ValueType::string;
  value.count = texts.size();
  for (const std::string& text : texts) {
    value.bytes += text;
    value.ends.push_back(static_cast<uint32_t>(value.bytes.size()));
  }
  return value;
}

MetadataValue bytes_value(std::string_view bytes) {
  MetadataValue value;
  value.type = ValueType::array;
  value.element = ValueType::i8;
  value.count = bytes.size();
  value.bytes = bytes;
  return value;
}

enum class Kind : uint8_t { spm, bytes, raw, words };

Gguf header(Kind kind, std::string_view pre, const std::vector<std::string>& tokens,
            std::string_view types, std::string_view scores,
            const std::vector<std::string>& merges) {
  Gguf gguf;
  gguf.metadata.emplace_back("tokenizer.ggml.model", text_value(kind == Kind::spm     ? "llama"
                                                                : kind == Kind::raw   ? "gemma4"
                                                                : kind == Kind::words ? "bert"
                                                                                      : "gpt2"));
  gguf.metadata.emplace_back("tokenizer.ggml.pre", text_value(pre));
  gguf.metadata.emplace_back("tokenizer.ggml.tokens", texts_value(tokens));
  gguf.metadata.emplace_back("tokenizer.ggml.token_type", bytes_value(types));
  gguf.metadata.emplace_back("tokenizer.ggml.scores", bytes_value(scores));
  gguf.metadata.emplace_back("tokenizer.ggml.merges", texts_value(merges));
  return gguf;
}

std::string byte_token(uint32_t byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

// A vocabulary of all bytes, some merges, overlapping user-defined and control tokens.
Tokenizer sound(Kind kind, std::string_view pre) {
  const bool coded = kind == Kind::bytes;
  std::vector<std::string> tokens;
  std::string types;
  std::string scores;
  const auto add = [&](std::string_view text, char type, int score = 0) {
    tokens.emplace_back(text);
    types.push_back(type);
    scores.push_back(static_cast<char>(score));
  };
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (coded) {
      add(byte_character(static_cast<uint8_t>(byte)), 1);
    } else {
      add(byte_token(byte), 6);
    }
  }
  const std::string space(coded ? byte_character(' ') : kSpaceSign);
  if (!coded) {
    for (const std::string& text : {std::string("a"), std::string("t"), std::string("h"), space})
      add(text, 1, -9);
  }
  for (const std::string& text : {"aa", "aaaa", "th"}) add(text, 1, -3);
  for (const std::string& text : {space + space, space + "a", space + "th"}) add(text, 1, -2);
  for (const std::string_view text : {"<<", "<<a", "a<b", "\n\n", "  "}) add(text, 4);
  for (const std::string_view text : {"<|im_start|>", "<s>"}) add(text, 4);  // guarded names
  for (const std::string_view text : {"<a>", "<<a>", "b<<"}) add(text, 3);
  const std::vector<std::string> merges = {"a a",   "t h",        space + " " + space,
                                           "aa aa", space + " a", space + " th"};
  auto tokenizer = Tokenizer::from_gguf(header(
      kind, pre, tokens, types, scores, kind == Kind::spm ? std::vector<std::string>{} : merges));
  require(tokenizer.has_value());
  return std::move(*tokenizer);
}

MetadataValue bool_value(bool value) {
  MetadataValue out;
  out.type = ValueType::boolean;
  out.bytes.push_back(value ? '\1' : '\0');
  return out;
}

// WordPiece with tokens for some characters, one of them as it is without its mark.
Tokenizer sound_words(bool lowercase, bool strip_accents) {
  std::vector<std::string> tokens = {"[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::string types(tokens.size(), 3);
  for (const std::string text : {"a", "ab", "aba", "A", "e", "\u00e9", "\u1112", "\u1161", "b!"}) {
    tokens.push_back(std::string(kSpaceSign) + text);
    tokens.push_back(text);
  }
  tokens.push_back(std::string(kSpaceSign) + ".");
  types.resize(tokens.size(), 1);
  const std::string scores(tokens.size(), 0);
  Gguf gguf = header(Kind::words, "", tokens, types, scores, {});
  gguf.metadata.emplace_back("tokenizer.ggml.normalizer.lowercase", bool_value(lowercase));
  gguf.metadata.emplace_back("tokenizer.ggml.normalizer.strip_accents", bool_value(strip_accents));
  auto tokenizer = Tokenizer::from_gguf(gguf);
  require(tokenizer.has_value());
  return std::move(*tokenizer);
}

// Whitespace divides a text: what stands on one side changes nothing on the other.
void use_words(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> twice = tokenizer.encode(text);
  const size_t size = twice.size();
  twice.reserve(2 * size);
  std::copy_n(twice.begin(), size, std::back_inserter(twice));
  std::string texts(text);
  texts.append("\n").append(text);
  require(tokenizer.encode(texts) == twice);
}

// Some spans of the text, which its bytes choose.
std::vector<TextSpan> spans_of(std::string_view text) {
  std::vector<TextSpan> spans;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<uint8_t>(text[at]);
    const size_t begin = at + byte % 8;
    const size_t end = std::min<size_t>(begin + byte / 8 % 16, text.size());
    if (begin >= text.size()) break;
    spans.push_back({begin, end});
    at = end + 1 + byte / 128;
  }
  return spans;
}

// `keeps_bytes`: the ids have all bytes of the text.
void use_input(const Tokenizer& tokenizer, std::string_view text, bool keeps_bytes) {
  const auto guarded = [&](TokenId id) { return tokenizer.is_guarded(id); };
  const std::vector<TokenId> none = tokenizer.encode(text, true, {{0, text.size()}});
  require(std::ranges::none_of(none, guarded));
  const std::vector<TextSpan> spans = spans_of(text);
  const std::vector<TokenId> ids = tokenizer.encode(text, true, spans);
  Encoding in_slices(tokenizer, text, true, 5, spans);
  while (in_slices.step()) require(in_slices.bytes_left() <= text.size());
  require(in_slices.take() == ids && in_slices.bytes_left() == 0);
  if (!keeps_bytes) return;
  size_t at = 0;
  bool after_special = true;
  for (const TokenId id : ids) {
    const std::string_view raw = tokenizer.raw_token(id);
    const size_t size = tokenizer.text_of(id, after_special).size();
    if (!guarded(id)) {
      at += size;
      continue;
    }
    require(text.substr(at).starts_with(raw));
    for (const TextSpan& span : spans)
      require(span.begin == span.end || span.end <= at || span.begin >= at + raw.size());
    at += raw.size();
  }
  require(at == text.size());
}

void use(const Tokenizer& tokenizer, std::string_view text, bool comes_back) {
  use_input(tokenizer, text, comes_back);
  for (const bool parse_special : {false, true}) {
    const std::vector<TokenId> ids = tokenizer.encode(text, parse_special);
    Encoding in_slices(tokenizer, text, parse_special, 5);
    while (in_slices.step()) require(in_slices.min_ids() <= ids.size());
    require(in_slices.take() == ids);
    for (const TokenId id : tokenizer.framed(ids)) require(id >= 0 && id < tokenizer.vocab_size());
    const std::string decoded = tokenizer.decode(ids);
    if (comes_back && !parse_special) require(decoded == text);
    TextStream stream(tokenizer, true);
    std::string streamed;
    for (const TokenId id : ids) {
      const std::string part = stream.push(id);
      require(utf8_sanitize(part) == part);
      streamed += part;
    }
    streamed += stream.flush();
    require(streamed == utf8_sanitize(decoded));
  }
}

// Takes bytes from the front of the input.
std::string_view take(std::string_view& input, size_t n) {
  const std::string_view taken = input.substr(0, n);
  input.remove_prefix(taken.size());
  return taken;
}
uint8_t take_byte(std::string_view& input) {
  return input.empty() ? 0 : static_cast<uint8_t>(take(input, 1)[0]);
}
std::vector<std::string> take_texts(std::string_view& input, size_t n) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < n; ++i) texts.emplace_back(take(input, take_byte(input) % 16));
  return texts;
}

void use_any_vocabulary(std::string_view input) {
  const uint8_t flags = take_byte(input);
  std::vector<std::string> tokens = take_texts(input, take_byte(input));
  const std::string types(take(input, (flags & 2) != 0 ? take_byte(input) : tokens.size()));
  const std::string scores(take(input, (flags & 4) != 0 ? take_byte(input) : tokens.size()));
  std::vector<std::string> merges = take_texts(input, take_byte(input) % 32);
  if ((flags & 8) != 0) {  // merges of known tokens, which pass the checks
    merges.clear();
    for (size_t i = 0; i + 1 < tokens.size() && i < 40; i += 2) {
      merges.push_back(tokens[i] + " " + tokens[i + 1]);
      tokens.push_back(tokens[i] + tokens[i + 1]);
    }
  }
  std::string all_types = types;
  std::string all_scores = scores;
  if ((flags & 8) != 0) {
    all_types.resize(tokens.size(), 1);
    all_scores.resize(tokens.size(), 0);
  }
  const Kind kind = (flags & 65) == 65  ? Kind::words
                    : (flags & 1) != 0  ? Kind::spm
                    : (flags & 64) != 0 ? Kind::raw
                                        : Kind::bytes;
  if (kind == Kind::words) {
    // Each token at the beginning of a word and inside one.
    const size_t count = tokens.size();
    for (size_t i = 0; i < count; ++i) tokens.push_back(std::string(kSpaceSign) + tokens[i]);
    all_types.resize(tokens.size(), 1);
  }
  Gguf gguf = header(kind, take(input, 9), tokens, all_types, all_scores, merges);
  if ((flags & 16) != 0) {
    for (const char* key : {"bos", "eos", "eot", "unknown", "cls", "seperator", "mask"}) {
      MetadataValue id;
      id.type = ValueType::u8;
      id.bytes.push_back(static_cast<char>(take_byte(input)));
      gguf.metadata.emplace_back(std::string("tokenizer.ggml.") + key + "_token_id", id);
    }
  }
  if ((flags & 32) != 0)
    std::erase_if(gguf.metadata, [](auto& e) { return e.first.ends_with("type"); });
  if ((flags & 128) != 0) {
    gguf.metadata.emplace_back("tokenizer.ggml.normalizer.nfc", bool_value(true));
    gguf.metadata.emplace_back("tokenizer.ggml.normalizer.lowercase", bool_value(false));
    gguf.metadata.emplace_back("tokenizer.ggml.add_eos_token", bool_value(true));
    gguf.metadata.emplace_back("general.name", text_value("ModernBERT/modern-bert"));
  }
  const auto tokenizer = Tokenizer::from_gguf(gguf);
  if (!tokenizer) {
    const std::string& message = tokenizer.error().message;
    require(!message.empty() && printable(message, 100000) == message);
    return;
  }
  for (TokenId id = -1; id <= tokenizer->vocab_size(); ++id) {
    require(tokenizer->piece(id).size() <= tokenizer->raw_token(id).size());
    require(!tokenizer->is_end(id) || id >= 0);
  }
  use(*tokenizer, input, false);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer kSound[] = {
      sound(Kind::spm, ""),          sound(Kind::bytes, "gpt-2"),  sound(Kind::bytes, "llama-bpe"),
      sound(Kind::bytes, "qwen2"),   sound(Kind::bytes, "qwen35"), sound(Kind::bytes, "smollm"),
      sound(Kind::bytes, "default"), sound(Kind::raw, "")};
  static const Tokenizer kWords[] = {sound_words(true, true), sound_words(true, false),
                                     sound_words(false, true), sound_words(false, false)};
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t which = take_byte(input) % (std::size(kSound) + std::size(kWords) + 2);
  if (which < std::size(kSound)) {
    use(kSound[which], input, true);
  } else if (which < std::size(kSound) + std::size(kWords)) {
    const Tokenizer& words = kWords[which - std::size(kSound)];
    use(words, input, false);
    use_words(words, input);
  } else {
    use_any_vocabulary(input);
  }
  return 0;
}
