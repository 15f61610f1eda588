#include "text/tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/format.h"
#include "base/order.h"
#include "base/utf8.h"
#include "text/guarded_names.h"
#include "text/special_search.h"
#include "text/tokenizer_state.h"

namespace sluice {
namespace {

constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kClsKey = "tokenizer.ggml.cls_token_id";
constexpr std::string_view kSeparatorKey = "tokenizer.ggml.seperator_token_id";  // spelled so
constexpr std::string_view kUnknownKey = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view kMaskKey = "tokenizer.ggml.mask_token_id";

constexpr size_t kMaxSpecialBytes = 8u << 20;  // of all special tokens' texts

// Tokens that are control tokens whatever type the file gives them, and whether they end a text:
// the names that llama.cpp knows (src/llama-vocab.cpp).
struct NamedToken {
  std::string_view text;
  bool ends;
};
constexpr std::string_view kToolResponse = "<|tool_response>";
constexpr NamedToken kNamedTokens[] = {
    {"<|eot_id|>", true},      {"<|eom_id|>", true},
    {"<|im_end|>", true},      {"<|end|>", true},
    {"<|endoftext|>", true},   {"<|end_of_text|>", true},
    {"<end_of_turn>", true},   {"<end_of_utterance>", true},
    {"<turn|>", true},         {kToolResponse, true},
    {"<EOT>", true},           {"_<EOT>", true},
    {"[EOT]", true},           {"<｜end▁of▁sentence｜>", true},
    {"<|fim_pad|>", true},     {"<|fim_repo|>", true},
    {"<|repo_name|>", true},   {"<|file_sep|>", true},
    {"<|fim_prefix|>", false}, {"<|fim_suffix|>", false},
    {"<|fim_middle|>", false},
};
// These end a text only if their type in the file isn't normal, because they also occur in plain
// text.
constexpr std::string_view kEndIfSpecial[] = {"</s>", "<eos>", "[EOS]"};
// In a vocabulary with kToolResponse this one is a tag of HTML, as any other text.
constexpr std::string_view kHtmlTag = "</s>";

// Keys of end tokens besides tokenizer.ggml.eos_token_id.
constexpr std::string_view kEndKeys[] = {
    "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
};

}  // namespace

// The id at `key`. If there is none, `absent` if the vocabulary has it, else kNoToken. Some files
// have ids that aren't in the vocabulary, or -1 for none.
Result<TokenId> Tokenizer::State::read_id(const Gguf& gguf, std::string_view key, TokenId absent) {
  const TokenId fallback = vocabulary.contains(absent) ? absent : kNoToken;
  SLUICE_ASSIGN(const std::optional<uint64_t> id, gguf.get_u64(key));
  if (!id) return fallback;
  if (*id < static_cast<uint64_t>(vocabulary.size())) return static_cast<TokenId>(*id);
  if (*id != UINT32_MAX) note_absent(key, *id);
  return fallback;
}

void Tokenizer::State::note_absent(std::string_view key, uint64_t id) {
  const auto tokens = static_cast<uint64_t>(vocabulary.size());
  warnings.push_back(
      {NoteCode::token_not_in_vocabulary,
       concat(key, " is ", id, ", but the vocabulary has ", tokens, " tokens: left out"),
       {{"key", std::string(key)}, {"id", id}, {"tokens", tokens}}});
}

Status Tokenizer::State::load_spm(const Gguf& gguf) {
  SLUICE_ASSIGN(vocabulary, Vocab::from_gguf(gguf, TextCoding::spaces));
  model = "llama";
  SLUICE_ASSIGN(const TokenId unknown, read_id(gguf, kUnknownKey, 0));
  encoder = SpmEncoder(unknown);
  SLUICE_ASSIGN(const std::optional<bool> space, gguf.get_bool("tokenizer.ggml.add_space_prefix"));
  space_prefix = space.value_or(true);
  // The defaults are Llama's.
  SLUICE_ASSIGN(bos, read_id(gguf, kBosKey, 1));
  SLUICE_ASSIGN(eos, read_id(gguf, kEosKey, 2));
  SLUICE_TRY(load_prefix(gguf, true));
  return load_suffix(gguf);
}

Status Tokenizer::State::load_bpe(const Gguf& gguf, std::optional<std::string_view> name) {
  std::optional<PreTokenizer> pre = find_pre_tokenizer(name.value_or(""));
  if (!pre) {
    pre = default_pre_tokenizer();
    if (name) {
      warnings.push_back({NoteCode::unknown_pre_tokenizer,
                          concat("unknown pre-tokenizer '", printable(*name), "': using 'default'"),
                          {{"name", printable(*name)}}});
    } else {
      warnings.push_back(
          {NoteCode::no_pre_tokenizer, "the file names no pre-tokenizer: using 'default'"});
    }
  }
  pre_tokenizer = pre->name;
  spaces_to_signs = pre->raw;
  SLUICE_ASSIGN(vocabulary, Vocab::from_gguf(gguf, pre->raw ? TextCoding::raw : TextCoding::bytes));
  SLUICE_ASSIGN(BpeEncoder bpe, BpeEncoder::from_gguf(gguf, vocabulary, *pre));
  if (const uint64_t n = bpe.skipped_merges(); n > 0) {
    warnings.push_back({NoteCode::merges_skipped,
                        concat(n,
                               n == 1 ? " merge of the vocabulary names a token"
                                      : " merges of the vocabulary name tokens",
                               " that it does not have: skipped"),
                        {{"merges", n}}});
  }
  encoder = std::move(bpe);
  SLUICE_ASSIGN(const std::optional<bool> nfc_wanted,
                gguf.get_bool("tokenizer.ggml.normalizer.nfc"));
  if (nfc_wanted.value_or(false) && !pre->raw) nfc.emplace();
  SLUICE_ASSIGN(bos, read_id(gguf, kBosKey));
  SLUICE_ASSIGN(eos, read_id(gguf, kEosKey));
  SLUICE_TRY(load_prefix(gguf, pre->adds_bos, pre->raw));
  return load_suffix(gguf);
}

// The id at `key`, or the token with this text, or the number that BERT's vocabulary has. With this
// text it is a control token, whatever its type.
Result<TokenId> Tokenizer::State::read_bert_id(const Gguf& gguf, std::string_view key,
                                               std::string_view text, TokenId absent) {
  const TokenId named = vocabulary.find(text);
  SLUICE_ASSIGN(const TokenId id, read_id(gguf, key, named != kNoToken ? named : absent));
  if (id != kNoToken && id == named) vocabulary.make_control(id);
  return id;
}

Status Tokenizer::State::load_word_piece(const Gguf& gguf) {
  SLUICE_ASSIGN(vocabulary, Vocab::from_gguf(gguf, TextCoding::raw));
  model = "bert";
  space_prefix = true;
  WordPieceEncoder::Rules rules;
  SLUICE_ASSIGN(const auto lowercase, gguf.get_bool("tokenizer.ggml.normalizer.lowercase"));
  SLUICE_ASSIGN(const auto strip, gguf.get_bool("tokenizer.ggml.normalizer.strip_accents"));
  rules.lowercase = lowercase.value_or(true);
  rules.strip_accents = strip.value_or(rules.lowercase);
  SLUICE_ASSIGN(rules.unknown, read_bert_id(gguf, kUnknownKey, "[UNK]", 100));
  encoder = WordPieceEncoder(rules);
  // A file may have either key, or both with the same id.
  const bool cls = gguf.find(kClsKey) != nullptr;
  const bool separator = gguf.find(kSeparatorKey) != nullptr;
  SLUICE_ASSIGN(bos, read_bert_id(gguf, cls ? kClsKey : kBosKey, "[CLS]", 101));
  SLUICE_ASSIGN(eos, read_bert_id(gguf, separator ? kSeparatorKey : kEosKey, "[SEP]", 102));
  if (bos != kNoToken) prefix.push_back(bos);
  if (eos != kNoToken) suffix.push_back(eos);
  return {};
}

// ModernBERT's mask takes the space before it, as a word's first token does. GGUF has no key for
// that.
Status Tokenizer::State::load_mask(const Gguf& gguf) {
  if (is_word_piece()) {
    SLUICE_ASSIGN(mask, read_bert_id(gguf, kMaskKey, "[MASK]", 103));
  } else {
    SLUICE_ASSIGN(mask, read_id(gguf, kMaskKey));
  }
  constexpr std::string_view kModernBert = "modern-bert";
  SLUICE_ASSIGN(const auto architecture, gguf.get_string("general.architecture"));
  SLUICE_ASSIGN(const auto name, gguf.get_string("general.name"));
  std::string small(name.value_or(""));
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (architecture == kModernBert || small.find(kModernBert) != std::string::npos)
    swallows_space = vocabulary.find("[MASK]");
  return {};
}

// `always`: whatever the file says, as llama.cpp does for files whose key is wrong.
Status Tokenizer::State::load_prefix(const Gguf& gguf, bool adds_bos, bool always) {
  SLUICE_ASSIGN(const std::optional<bool> wanted, gguf.get_bool("tokenizer.ggml.add_bos_token"));
  if ((always || wanted.value_or(adds_bos)) && bos != kNoToken) {
    prefix.push_back(bos);
  } else if (wanted.value_or(false)) {
    warnings.push_back(
        {NoteCode::no_bos_token,
         "tokenizer.ggml.add_bos_token is true, but there is no tokenizer.ggml.bos_token_id: no "
         "token is put in front of prompts"});
  }
  return {};
}

// Where a file has no EOS, the separator ends a text.
Status Tokenizer::State::load_suffix(const Gguf& gguf) {
  SLUICE_ASSIGN(const std::optional<bool> wanted, gguf.get_bool("tokenizer.ggml.add_eos_token"));
  if (!wanted.value_or(false)) return {};
  SLUICE_ASSIGN(const TokenId id,
                eos != kNoToken ? Result<TokenId>(eos) : read_id(gguf, kSeparatorKey));
  if (id != kNoToken) suffix.push_back(id);
  return {};
}

Status Tokenizer::State::load_ends(const Gguf& gguf) {
  if (eos != kNoToken) ends.push_back(eos);  // the file's or Llama's
  for (const std::string_view key : kEndKeys) {
    SLUICE_ASSIGN(const TokenId id, read_id(gguf, key));
    if (id != kNoToken) ends.push_back(id);
  }
  for (const NamedToken& token : kNamedTokens) {
    const TokenId id = vocabulary.find(token.text);
    if (id == kNoToken) continue;
    vocabulary.make_control(id);
    if (token.ends) ends.push_back(id);
  }
  for (const std::string_view text : kEndIfSpecial) {
    const TokenId id = vocabulary.find(text);
    if (id == kNoToken || vocabulary.type(id) == TokenType::normal) continue;
    if (text == kHtmlTag && vocabulary.find(kToolResponse) != kNoToken &&
        std::ranges::find(ends, id) == ends.end()) {
      vocabulary.make_normal(id);
      continue;
    }
    vocabulary.make_control(id);
    ends.push_back(id);
  }
  sort_indices(ends, std::less<>());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return {};
}

// Ids that aren't in the vocabulary are left out, with one warning for all.
Status Tokenizer::State::load_suppressed(const Gguf& gguf) {
  constexpr std::string_view kKey = "tokenizer.ggml.suppress_tokens";
  const MetadataValue* list = gguf.find(kKey);
  if (list == nullptr) return {};
  std::vector<uint8_t> chosen(static_cast<size_t>(vocabulary.size()));
  std::optional<uint64_t> unknown;
  for (uint64_t i = 0; list->is_array() && i < list->count; ++i) {
    const auto id = list->as_i64(i);
    if (!id) return fail(Code::bad_file, kKey, " holds no integers; it should be a list of tokens");
    if (*id >= 0 && *id < vocabulary.size()) {
      chosen[static_cast<size_t>(*id)] = true;
    } else if (*id >= 0 && !unknown) {
      unknown = static_cast<uint64_t>(*id);
    }
  }
  if (!list->is_array()) return fail(Code::bad_file, kKey, " is no array; expected one of tokens");
  for (TokenId id = 0; id < vocabulary.size(); ++id)
    if (chosen[static_cast<size_t>(id)]) suppressed.push_back(id);
  if (suppressed.size() == chosen.size()) {
    return fail(Code::bad_file, kKey, " has all ", suppressed.size(),
                " tokens of the vocabulary, so the model could write none");
  }
  if (unknown) note_absent(kKey, *unknown);
  return {};
}

Status Tokenizer::State::collect_special() {
  size_t bytes = 0;
  uint64_t too_long = 0;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    const bool user = type == TokenType::user_defined;
    if (!user && type != TokenType::control && type != TokenType::unknown) continue;
    const std::string_view text = vocabulary.text(id);
    if (user && (std::ranges::binary_search(ends, id) || is_guarded_name(text)))
      vocabulary.guard(id);
    bytes += text.size();
    if (bytes > kMaxSpecialBytes) {
      return fail(Code::bad_file, "the vocabulary's special tokens have more than ",
                  kMaxSpecialBytes, " bytes of text: tokenizer.ggml.token_type can't be right");
    }
    if (!special.add(text, id, user, is_guarded(id))) ++too_long;
  }
  special.finish();
  if (too_long > 0) {
    warnings.push_back(
        {NoteCode::special_tokens_too_long,
         concat(too_long, too_long == 1 ? " special token has" : " special tokens have",
                " more than ", SpecialTokens::kMaxBytes, " bytes: not found in texts"),
         {{"tokens", too_long}}});
  }
  if (auto* bpe = std::get_if<BpeEncoder>(&encoder)) bpe->forget_merges_to_special(vocabulary);
  return {};
}

bool Tokenizer::State::is_guarded(TokenId id) const {
  const TokenType type = vocabulary.type(id);
  return type == TokenType::control || type == TokenType::unknown || type == TokenType::guarded;
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::from_gguf(const Gguf& gguf) {
  SLUICE_ASSIGN(const std::optional<std::string_view> model,
                gguf.get_string("tokenizer.ggml.model"));
  if (!model) {
    return fail(Code::bad_file,
                "tokenizer.ggml.model is missing: the file has no vocabulary to read");
  }
  auto state = std::make_unique<State>();
  if (*model == "llama") {
    SLUICE_TRY(state->load_spm(gguf));
  } else if (*model == "gpt2") {
    state->model = "gpt2";
    SLUICE_ASSIGN(const auto pre, gguf.get_string("tokenizer.ggml.pre"));
    SLUICE_TRY(state->load_bpe(gguf, pre));
  } else if (*model == "gemma4") {
    state->model = "gemma4";
    SLUICE_TRY(state->load_bpe(gguf, "gemma4"));  // whatever tokenizer.ggml.pre says
  } else if (*model == "bert") {
    SLUICE_TRY(state->load_word_piece(gguf));
  } else {
    return with_facts(fail(Code::unsupported_model, "the tokenizer model is '", printable(*model),
                           "'; 'llama', 'gpt2', 'gemma4' and 'bert' are supported"),
                      {{"tokenizer", printable(*model)}});
  }
  SLUICE_TRY(state->load_mask(gguf));
  SLUICE_TRY(state->load_ends(gguf));
  SLUICE_TRY(state->load_suppressed(gguf));
  SLUICE_TRY(state->collect_special());
  state->vocabulary.finish();
  return Tokenizer(std::move(state));
}

// A token stands for at most as many bytes of text as its own text in the vocabulary has, or three
// times as many that NFC has put together. WordPiece drops whitespace, and long words become one.
size_t Tokenizer::State::max_bytes_per_id() const {
  if (is_word_piece()) return 0;
  const auto* spm = std::get_if<SpmEncoder>(&encoder);
  const bool all = vocabulary.has_all_bytes() || (spm != nullptr && spm->has_unknown());
  return all ? vocabulary.longest_text() * (nfc ? 3 : 1) : 0;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special,
                                       std::vector<TextSpan> input) const {
  Encoding encoding(*this, text, parse_special, Encoding::kSlice, std::move(input));
  while (encoding.step()) continue;
  return encoding.take();
}

std::vector<TextSpan> Tokenizer::find_control(std::string_view text) const {
  std::vector<TextSpan> spans;
  SpecialSearch search(state_->special, text, true, {}, Encoding::kSlice);
  while (search.scan()) {
    for (const auto& [begin, size, id] : search.matches())
      if (state_->is_guarded(id)) spans.push_back({begin, begin + size});
  }
  return spans;
}

std::string_view Tokenizer::piece(TokenId id) const {
  return state_->vocabulary.contains(id) ? state_->vocabulary.piece(id) : std::string_view();
}

std::string_view Tokenizer::raw_token(TokenId id) const {
  return state_->vocabulary.contains(id) ? state_->vocabulary.text(id) : std::string_view();
}

TokenId Tokenizer::find_raw(std::string_view raw) const { return state_->vocabulary.find(raw); }

std::string_view Tokenizer::text_of(TokenId id, bool& after_special) const {
  std::string_view bytes = piece(id);
  if (is_special(id)) {
    // In WordPiece only the first word lacks its space.
    after_special = after_special || !state_->is_word_piece();
  } else if (!bytes.empty()) {
    if (after_special && state_->space_prefix && bytes.front() == ' ') bytes.remove_prefix(1);
    after_special = false;
  }
  return bytes;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string out;
  bool after_special = true;
  for (const TokenId id : ids) out.append(text_of(id, after_special));
  return out;
}

int64_t Tokenizer::vocab_size() const { return state_->vocabulary.size(); }
std::span<const TokenId> Tokenizer::prefix() const { return state_->prefix; }
std::span<const TokenId> Tokenizer::suffix() const { return state_->suffix; }

std::vector<TokenId> Tokenizer::framed(std::vector<TokenId> text) const {
  text.insert(text.begin(), state_->prefix.begin(), state_->prefix.end());
  text.insert(text.end(), state_->suffix.begin(), state_->suffix.end());
  return text;
}

std::vector<TokenId> Tokenizer::with_prefix(std::vector<TokenId> text) const {
  const auto before = prefix();
  const bool has_it = !before.empty() && !text.empty() && text.front() == before.back();
  if (!has_it) text.insert(text.begin(), before.begin(), before.end());
  return text;
}
TokenId Tokenizer::bos() const { return state_->bos; }
TokenId Tokenizer::eos() const { return state_->eos; }
TokenId Tokenizer::mask() const { return state_->mask; }

bool Tokenizer::is_end(TokenId id) const {
  return std::binary_search(state_->ends.begin(), state_->ends.end(), id);
}

std::span<const TokenId> Tokenizer::suppressed() const { return state_->suppressed; }

bool Tokenizer::is_special(TokenId id) const {
  if (!state_->vocabulary.contains(id)) return false;
  const TokenType type = state_->vocabulary.type(id);
  return type == TokenType::control || type == TokenType::user_defined ||
         type == TokenType::guarded;
}

bool Tokenizer::is_guarded(TokenId id) const {
  return state_->vocabulary.contains(id) && state_->is_guarded(id);
}

bool Tokenizer::adds_space_prefix() const { return state_->space_prefix; }
std::string_view Tokenizer::model() const { return state_->model; }
std::string_view Tokenizer::pre_tokenizer() const { return state_->pre_tokenizer; }
const Notes& Tokenizer::warnings() const { return state_->warnings; }

TextStream::TextStream(const Tokenizer& tokenizer, bool at_start_of_text)
    : tokenizer_(&tokenizer), after_special_(at_start_of_text) {}

std::string TextStream::push(TokenId id) {
  pending_.append(tokenizer_->text_of(id, after_special_));
  const size_t ready = pending_.size() - utf8_incomplete_tail(pending_);
  std::string text = utf8_sanitize(std::string_view(pending_).substr(0, ready));
  pending_.erase(0, ready);
  return text;
}

std::string TextStream::flush() { return utf8_sanitize(std::exchange(pending_, {})); }

}  // namespace sluice
