#include "text/tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "base/format.h"
#include "base/order.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/nfc.h"
#include "text/special_tokens.h"
#include "text/spm.h"
#include "text/vocab.h"

namespace sluice {
namespace {

constexpr size_t kMaxPiece = 64u << 20;        // bytes of text; longer texts are encoded in pieces
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

// The first piece of a text. It ends with a whole character.
std::string_view first_piece(std::string_view text) {
  const std::string_view piece = text.substr(0, kMaxPiece);
  if (piece.size() == text.size()) return text;
  return piece.substr(0, piece.size() - utf8_incomplete_tail(piece));
}

}  // namespace

struct Tokenizer::State {
  Vocab vocabulary;
  std::variant<SpmEncoder, BpeEncoder> encoder;
  SpecialTokens user_defined;  // found in every text
  SpecialTokens all_special;   // found with parse_special
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  std::vector<TokenId> ends;  // in ascending order
  std::vector<TokenId> prefix;
  std::vector<TokenId> suppressed;  // in ascending order
  bool space_prefix = false;
  std::string_view model;
  std::string_view pre_tokenizer;
  bool spaces_to_signs = false;  // U+2581 stands for each space of a text before it is encoded
  std::optional<Nfc> nfc;        // a text is put into this form before it is encoded
  Notes warnings;

  bool changes_text() const { return spaces_to_signs || nfc; }
  void note_absent(std::string_view key, uint64_t id);
  Result<TokenId> read_id(const Gguf& gguf, std::string_view key, TokenId absent = kNoToken);
  Status load_spm(const Gguf& gguf);
  Status load_bpe(const Gguf& gguf, std::optional<std::string_view> pre_name);
  Status load_ends(const Gguf& gguf);
  Status load_prefix(const Gguf& gguf, bool adds_bos, bool always = false);
  Status load_suppressed(const Gguf& gguf);
  Status collect_special();
  // The most bytes of text that one id stands for; 0 if some bytes get no id.
  size_t max_bytes_per_id() const;
};

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
  SLUICE_ASSIGN(const TokenId unknown, read_id(gguf, "tokenizer.ggml.unknown_token_id", 0));
  encoder = SpmEncoder(unknown);
  SLUICE_ASSIGN(const std::optional<bool> space, gguf.get_bool("tokenizer.ggml.add_space_prefix"));
  space_prefix = space.value_or(true);
  // The defaults are Llama's.
  SLUICE_ASSIGN(bos, read_id(gguf, "tokenizer.ggml.bos_token_id", 1));
  SLUICE_ASSIGN(eos, read_id(gguf, "tokenizer.ggml.eos_token_id", 2));
  return load_prefix(gguf, true);
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
  SLUICE_ASSIGN(bos, read_id(gguf, "tokenizer.ggml.bos_token_id"));
  SLUICE_ASSIGN(eos, read_id(gguf, "tokenizer.ggml.eos_token_id"));
  return load_prefix(gguf, pre->adds_bos, pre->raw);
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
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    const bool user = type == TokenType::user_defined;
    if (!user && type != TokenType::control && type != TokenType::unknown) continue;
    bytes += vocabulary.text(id).size();
    if (bytes > kMaxSpecialBytes) {
      return fail(Code::bad_file, "the vocabulary's special tokens have more than ",
                  kMaxSpecialBytes, " bytes of text: tokenizer.ggml.token_type can't be right");
    }
    if (user) user_defined.add(vocabulary.text(id), id);
    all_special.add(vocabulary.text(id), id);
  }
  user_defined.finish();
  all_special.finish();
  return {};
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
  } else {
    return with_facts(fail(Code::unsupported_model, "the tokenizer model is '", printable(*model),
                           "'; 'llama', 'gpt2' and 'gemma4' are supported"),
                      {{"tokenizer", printable(*model)}});
  }
  SLUICE_TRY(state->load_ends(gguf));
  SLUICE_TRY(state->load_suppressed(gguf));
  SLUICE_TRY(state->collect_special());
  state->vocabulary.finish();
  return Tokenizer(std::move(state));
}

// A token stands for at most as many bytes of text as its own text in the vocabulary has, or three
// times as many that NFC has put together.
size_t Tokenizer::State::max_bytes_per_id() const {
  const auto* spm = std::get_if<SpmEncoder>(&encoder);
  const bool all = vocabulary.has_all_bytes() || (spm != nullptr && spm->has_unknown());
  return all ? vocabulary.longest_text() * (nfc ? 3 : 1) : 0;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special,
                                       std::vector<TextSpan> literal) const {
  Encoding encoding(*this, text, parse_special, Encoding::kSlice, std::move(literal));
  while (encoding.step()) continue;
  return encoding.take();
}

std::vector<TextSpan> Tokenizer::find_control(std::string_view text) const {
  std::vector<TextSpan> spans;
  for (const SpecialTokens::Match& match : state_->all_special.find(text)) {
    if (state_->vocabulary.type(match.id) == TokenType::user_defined) continue;
    spans.push_back({match.begin, size_t{match.begin} + match.size});
  }
  return spans;
}

// Encodes the text piece by piece: in a piece, the plain text before each special token, then the
// token.
struct Encoding::State {
  const Tokenizer::State& tokenizer;
  const SpecialTokens& special;
  size_t slice;           // bytes of text
  std::string_view rest;  // the text after the piece
  std::vector<TextSpan> literal;
  std::string_view piece = {};
  size_t piece_begin = 0;  // in the text
  size_t at = 0;           // piece[at..] is neither encoded nor in `plain`
  size_t scanned = 0;      // special tokens that begin in piece[..scanned] are found
  std::vector<SpecialTokens::Match> matches = {};
  size_t next_match = 0;
  std::string_view unchanged = {};  // of a plain text that is changed first: what is left of it
  std::string changed = {};         // and what has become of the rest
  std::variant<std::monostate, SpmEncoder::PlainText, BpeEncoder::PlainText> plain = {};
  bool after_special = true;  // also at the beginning
  MergeList list = {};
  std::vector<TokenId> ids = {};
  uint64_t taken = 0;

  bool advance(size_t& budget);
  std::vector<SpecialTokens::Match> find(size_t begin, std::string_view seen) const;
  void scan(size_t& budget);
  void begin_plain(size_t end);
  void change(size_t& budget);
  void begin_encoding(std::string_view text);
  bool encode_plain(size_t& budget);
  uint64_t bytes_left() const;
};

// The special tokens in a part of the piece that begins at `begin`. The literal spans divide it.
std::vector<SpecialTokens::Match> Encoding::State::find(size_t begin, std::string_view seen) const {
  if (literal.empty()) return special.find(seen);
  begin += piece_begin;
  std::vector<SpecialTokens::Match> found;
  size_t from = 0;
  const auto find_before = [&](size_t end) {
    for (SpecialTokens::Match match : special.find(seen.substr(from, end - from))) {
      match.begin += static_cast<uint32_t>(from);
      found.push_back(match);
    }
  };
  auto span = std::partition_point(literal.begin(), literal.end(),
                                   [&](const TextSpan& each) { return each.end <= begin; });
  for (; span != literal.end() && span->begin < begin + seen.size(); ++span) {
    find_before(std::max(span->begin, begin) - begin);
    from = std::min(span->end - begin, seen.size());
  }
  find_before(seen.size());
  return found;
}

// Looks for special tokens in the next part of the piece.
void Encoding::State::scan(size_t& budget) {
  matches.clear();
  next_match = 0;
  if (special.empty()) {
    scanned = piece.size();
    return;
  }
  const size_t part = std::max(4 * slice, special.reach());
  const std::string_view seen = piece.substr(scanned, part + special.reach());
  matches = find(scanned, seen);
  const bool whole = scanned + seen.size() == piece.size();
  if (!whole) std::erase_if(matches, [&](const auto& match) { return match.begin >= part; });
  size_t end = whole ? seen.size() : part;
  for (SpecialTokens::Match& match : matches) {
    end = std::max<size_t>(end, match.begin + match.size);
    match.begin += static_cast<uint32_t>(scanned);
  }
  scanned += end;
  budget = 0;
}

void Encoding::State::begin_plain(size_t end) {
  const std::string_view text = piece.substr(at, end - at);
  at = end;
  if (!tokenizer.changes_text()) return begin_encoding(text);
  changed.clear();
  unchanged = text;
}

// Changes the next part of a plain text as the vocabulary has it, and begins to encode it when
// there is no more. A U+2581 of the text must not become a space: as in SpmEncoder it becomes byte
// tokens.
void Encoding::State::change(size_t& budget) {
  if (tokenizer.nfc) {
    const size_t size = tokenizer.nfc->append(unchanged, budget, changed);
    unchanged.remove_prefix(size);
    budget -= std::min(budget, size);
    if (unchanged.empty()) begin_encoding(changed);
    return;
  }
  const Vocab& vocabulary = tokenizer.vocabulary;
  const auto is_sign = [&](size_t i) {
    return vocabulary.has_all_bytes() && unchanged.substr(i).starts_with(kSpaceSign);
  };
  size_t size = 0;
  for (; size < std::min(budget, unchanged.size()) && !is_sign(size); ++size) {
    if (unchanged[size] == ' ') {
      changed.append(kSpaceSign);
    } else {
      changed.push_back(unchanged[size]);
    }
  }
  unchanged.remove_prefix(size);
  budget -= size;
  if (!changed.empty() && (unchanged.empty() || is_sign(0))) {
    begin_encoding(changed);
  } else if (changed.empty()) {
    for (const char c : kSpaceSign) ids.push_back(vocabulary.byte_token(static_cast<uint8_t>(c)));
    unchanged.remove_prefix(kSpaceSign.size());
    --budget;
  }
}

void Encoding::State::begin_encoding(std::string_view text) {
  if (const auto* spm = std::get_if<SpmEncoder>(&tokenizer.encoder)) {
    plain = spm->begin(text, tokenizer.space_prefix && after_special, slice);
  } else if (const auto* bpe = std::get_if<BpeEncoder>(&tokenizer.encoder)) {
    plain = bpe->begin(text, slice);
  }
  after_special = false;
}

bool Encoding::State::encode_plain(size_t& budget) {
  if (auto* spm = std::get_if<SpmEncoder::PlainText>(&plain)) {
    return std::get<SpmEncoder>(tokenizer.encoder)
        .encode(tokenizer.vocabulary, *spm, budget, list, ids);
  }
  return std::get<BpeEncoder>(tokenizer.encoder)
      .encode(tokenizer.vocabulary, std::get<BpeEncoder::PlainText>(plain), budget, list, ids);
}

// Does the next thing that there is to do. False: all is encoded.
bool Encoding::State::advance(size_t& budget) {
  if (!std::holds_alternative<std::monostate>(plain)) {
    if (!encode_plain(budget)) {
      plain = std::monostate();
      changed.clear();
    }
  } else if (!unchanged.empty()) {
    change(budget);
  } else if (next_match < matches.size()) {
    const SpecialTokens::Match& match = matches[next_match];
    if (at < match.begin) {
      begin_plain(match.begin);
      return true;
    }
    ids.push_back(match.id);
    at = match.begin + match.size;
    after_special = true;
    ++next_match;
    --budget;
  } else if (scanned < piece.size()) {
    scan(budget);
  } else if (at < piece.size()) {
    begin_plain(piece.size());
  } else if (!rest.empty()) {
    piece_begin += piece.size();
    piece = first_piece(rest);
    rest.remove_prefix(piece.size());
    at = scanned = 0;
  } else {
    return false;
  }
  return true;
}

uint64_t Encoding::State::bytes_left() const {
  uint64_t left = rest.size() + piece.size() - at + unchanged.size();
  if (std::holds_alternative<std::monostate>(plain)) left += changed.size();
  if (const auto* spm = std::get_if<SpmEncoder::PlainText>(&plain)) left += spm->left();
  if (const auto* bpe = std::get_if<BpeEncoder::PlainText>(&plain)) left += bpe->left();
  return left;
}

Encoding::Encoding(const Tokenizer& tokenizer, std::string_view text, bool parse_special,
                   size_t slice, std::vector<TextSpan> literal)
    : state_(
          new State{*tokenizer.state_,
                    parse_special ? tokenizer.state_->all_special : tokenizer.state_->user_defined,
                    slice, text, std::move(literal)}) {}
Encoding::Encoding(Encoding&&) noexcept = default;
Encoding& Encoding::operator=(Encoding&&) noexcept = default;
Encoding::~Encoding() = default;

bool Encoding::step() {
  size_t budget = state_->slice;
  while (budget > 0) {
    if (!state_->advance(budget)) return false;
  }
  return true;
}

std::vector<TokenId> Encoding::take() {
  state_->taken += state_->ids.size();
  return std::exchange(state_->ids, {});
}

uint64_t Encoding::min_ids() const {
  const uint64_t so_far = state_->taken + state_->ids.size();
  const uint64_t per_id = state_->tokenizer.max_bytes_per_id();
  return per_id == 0 ? so_far : so_far + (state_->bytes_left() + per_id - 1) / per_id;
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
    after_special = true;
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

std::vector<TokenId> Tokenizer::with_prefix(std::vector<TokenId> text) const {
  const auto before = prefix();
  const bool has_it = !before.empty() && !text.empty() && text.front() == before.back();
  if (!has_it) text.insert(text.begin(), before.begin(), before.end());
  return text;
}
TokenId Tokenizer::bos() const { return state_->bos; }
TokenId Tokenizer::eos() const { return state_->eos; }

bool Tokenizer::is_end(TokenId id) const {
  return std::binary_search(state_->ends.begin(), state_->ends.end(), id);
}

std::span<const TokenId> Tokenizer::suppressed() const { return state_->suppressed; }

bool Tokenizer::is_special(TokenId id) const {
  if (!state_->vocabulary.contains(id)) return false;
  const TokenType type = state_->vocabulary.type(id);
  return type == TokenType::control || type == TokenType::user_defined;
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
