#include "text/tokenizer.h"

#include <algorithm>
#include <variant>

#include "base/utf8.h"
#include "text/bpe.h"
#include "text/special_tokens.h"
#include "text/spm.h"
#include "text/vocab.h"

namespace sluice {
namespace {

constexpr size_t kMaxSlice = 64u << 20;        // bytes of text encoded at a time
constexpr size_t kMaxSpecialBytes = 8u << 20;  // of all special tokens' texts

// Tokens that are control tokens whatever type a file gives them, and whether they end a text; the
// names that llama.cpp knows (src/llama-vocab.cpp there).
struct NamedToken {
  std::string_view text;
  bool ends;
};
constexpr NamedToken kNamedTokens[] = {
    {"<|eot_id|>", true},      {"<|eom_id|>", true},
    {"<|im_end|>", true},      {"<|end|>", true},
    {"<|endoftext|>", true},   {"<|end_of_text|>", true},
    {"<end_of_turn>", true},   {"<end_of_utterance>", true},
    {"<EOT>", true},           {"_<EOT>", true},
    {"[EOT]", true},           {"<｜end▁of▁sentence｜>", true},
    {"<|fim_pad|>", true},     {"<|fim_repo|>", true},
    {"<|repo_name|>", true},   {"<|file_sep|>", true},
    {"<|fim_prefix|>", false}, {"<|fim_suffix|>", false},
    {"<|fim_middle|>", false},
};
// These end a text only where the file says that they are special: they occur in plain text, too.
constexpr std::string_view kEndIfSpecial[] = {"</s>", "<eos>", "[EOS]"};

constexpr std::string_view kEndKeys[] = {
    "tokenizer.ggml.eos_token_id",     "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",     "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
};

// The id under `key`, `absent` where the file has none (and the vocabulary has that token).
Result<TokenId> read_id(const Gguf& gguf, std::string_view key, const Vocab& vocabulary,
                        TokenId absent = kNoToken) {
  SLUICE_ASSIGN(const std::optional<uint64_t> id, gguf.get_u64(key));
  if (!id) return vocabulary.contains(absent) ? absent : kNoToken;
  if (*id >= static_cast<uint64_t>(vocabulary.size())) {
    return fail(Code::bad_file, key, " is ", *id, ", but the vocabulary has ", vocabulary.size(),
                " tokens: an id below that is expected");
  }
  return static_cast<TokenId>(*id);
}

// The first slice of a text that is too long to be encoded in one go: whole characters.
std::string_view first_slice(std::string_view text) {
  const std::string_view slice = text.substr(0, kMaxSlice);
  if (slice.size() == text.size()) return text;
  return slice.substr(0, slice.size() - utf8_incomplete_tail(slice));
}

}  // namespace

struct Tokenizer::State {
  Vocab vocabulary;
  std::variant<SpmEncoder, BpeEncoder> encoder;
  SpecialTokens user_defined;  // split out of every text
  SpecialTokens all_special;   // and with parse_special, these
  TokenId bos = kNoToken;
  TokenId eos = kNoToken;
  std::vector<TokenId> ends;  // ascending
  std::vector<TokenId> prefix;
  bool space_prefix = false;
  std::string_view pre_tokenizer;
  std::string warning;

  bool is_spm() const { return std::holds_alternative<SpmEncoder>(encoder); }
  Status load_spm(const Gguf& gguf);
  Status load_bpe(const Gguf& gguf);
  Status load_ends(const Gguf& gguf);
  Status load_prefix(const Gguf& gguf, bool adds_bos);
  Status collect_special();
  void encode_slice(std::string_view text, bool parse_special, bool& after_special, MergeList& list,
                    std::vector<TokenId>& out) const;
};

Status Tokenizer::State::load_spm(const Gguf& gguf) {
  SLUICE_ASSIGN(vocabulary, Vocab::from_gguf(gguf, TextCoding::spaces));
  SLUICE_ASSIGN(const TokenId unknown,
                read_id(gguf, "tokenizer.ggml.unknown_token_id", vocabulary, 0));
  encoder = SpmEncoder(unknown);
  SLUICE_ASSIGN(const std::optional<bool> space, gguf.get_bool("tokenizer.ggml.add_space_prefix"));
  space_prefix = space.value_or(true);
  // Where a file names none, these are Llama's own.
  SLUICE_ASSIGN(bos, read_id(gguf, "tokenizer.ggml.bos_token_id", vocabulary, 1));
  SLUICE_ASSIGN(eos, read_id(gguf, "tokenizer.ggml.eos_token_id", vocabulary, 2));
  return load_prefix(gguf, true);
}

Status Tokenizer::State::load_bpe(const Gguf& gguf) {
  SLUICE_ASSIGN(vocabulary, Vocab::from_gguf(gguf, TextCoding::bytes));
  SLUICE_ASSIGN(const std::optional<std::string_view> name, gguf.get_string("tokenizer.ggml.pre"));
  std::optional<PreTokenizer> pre = find_pre_tokenizer(name.value_or(""));
  if (!pre) {
    pre = default_pre_tokenizer();
    warning = name ? concat("unknown pre-tokenizer '", printable(*name), "': using 'default'")
                   : "the file names no pre-tokenizer: using 'default'";
  }
  pre_tokenizer = pre->name;
  SLUICE_ASSIGN(encoder, BpeEncoder::from_gguf(gguf, vocabulary, *pre));
  SLUICE_ASSIGN(bos, read_id(gguf, "tokenizer.ggml.bos_token_id", vocabulary));
  SLUICE_ASSIGN(eos, read_id(gguf, "tokenizer.ggml.eos_token_id", vocabulary));
  return load_prefix(gguf, pre->adds_bos);
}

Status Tokenizer::State::load_prefix(const Gguf& gguf, bool adds_bos) {
  SLUICE_ASSIGN(const std::optional<bool> wanted, gguf.get_bool("tokenizer.ggml.add_bos_token"));
  if (wanted.value_or(adds_bos) && bos != kNoToken) {
    prefix.push_back(bos);
  } else if (wanted.value_or(false)) {
    return fail(Code::bad_file,
                "tokenizer.ggml.add_bos_token is true, but there is no "
                "tokenizer.ggml.bos_token_id: both or neither are expected");
  }
  return {};
}

Status Tokenizer::State::load_ends(const Gguf& gguf) {
  if (eos != kNoToken) ends.push_back(eos);
  for (const std::string_view key : kEndKeys) {
    SLUICE_ASSIGN(const TokenId id, read_id(gguf, key, vocabulary));
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
    vocabulary.make_control(id);
    ends.push_back(id);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
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
    SLUICE_TRY(state->load_bpe(gguf));
  } else {
    return fail(Code::unsupported_model, "the tokenizer model is '", printable(*model),
                "'; 'llama' and 'gpt2' are supported");
  }
  SLUICE_TRY(state->load_ends(gguf));
  SLUICE_TRY(state->collect_special());
  state->vocabulary.finish();
  return Tokenizer(std::move(state));
}

void Tokenizer::State::encode_slice(std::string_view text, bool parse_special, bool& after_special,
                                    MergeList& list, std::vector<TokenId>& out) const {
  const auto encode_plain = [&](std::string_view plain) {
    if (plain.empty()) return;
    if (const auto* spm = std::get_if<SpmEncoder>(&encoder)) {
      spm->encode(vocabulary, plain, space_prefix && after_special, list, out);
    } else if (const auto* bpe = std::get_if<BpeEncoder>(&encoder)) {
      bpe->encode(vocabulary, plain, list, out);
    }
    after_special = false;
  };
  size_t at = 0;
  const SpecialTokens& special = parse_special ? all_special : user_defined;
  for (const SpecialTokens::Match& match : special.find(text)) {
    encode_plain(text.substr(at, match.begin - at));
    out.push_back(match.id);
    after_special = true;
    at = match.begin + match.size;
  }
  encode_plain(text.substr(at));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> out;
  MergeList list;
  bool after_special = true;  // the beginning counts
  while (!text.empty()) {
    const std::string_view slice = first_slice(text);
    state_->encode_slice(slice, parse_special, after_special, list, out);
    text.remove_prefix(slice.size());
  }
  return out;
}

std::string_view Tokenizer::piece(TokenId id) const {
  return state_->vocabulary.contains(id) ? state_->vocabulary.piece(id) : std::string_view();
}

std::string_view Tokenizer::raw_token(TokenId id) const {
  return state_->vocabulary.contains(id) ? state_->vocabulary.text(id) : std::string_view();
}

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
TokenId Tokenizer::bos() const { return state_->bos; }
TokenId Tokenizer::eos() const { return state_->eos; }

bool Tokenizer::is_end(TokenId id) const {
  return std::binary_search(state_->ends.begin(), state_->ends.end(), id);
}

bool Tokenizer::is_special(TokenId id) const {
  if (!state_->vocabulary.contains(id)) return false;
  const TokenType type = state_->vocabulary.type(id);
  return type == TokenType::control || type == TokenType::user_defined;
}

bool Tokenizer::adds_space_prefix() const { return state_->space_prefix; }
std::string_view Tokenizer::model() const { return state_->is_spm() ? "llama" : "gpt2"; }
std::string_view Tokenizer::pre_tokenizer() const { return state_->pre_tokenizer; }
std::string_view Tokenizer::warning() const { return state_->warning; }

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
