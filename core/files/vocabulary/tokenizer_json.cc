#include "files/vocabulary/tokenizer_json.h"

#include <optional>
#include <utility>

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxTokenizerDepth = 64;  // real files have 8
constexpr size_t kMaxTreeNodes = 1 << 17;  // of normalizers and so on; real files have some hundred

// Receives the file value by value, so that nothing of a vocabulary is held twice.
class TokenizerReader final : public nlohmann::json_sax<HubJson> {
 public:
  explicit TokenizerReader(TokenizerJson& out) : out_(out) {}

  // Why it ended the reading, if it did.
  std::optional<Error> error;
  bool has_model = false;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override {
    if (top() == Place::model && key_ == "byte_fallback") out_.byte_fallback = value;
    if (top() == Place::model && key_ == "ignore_merges") out_.ignore_merges = value;
    if (top() == Place::added_token && key_ == "special") out_.added.back().special = value;
    return add(value);
  }
  bool number_integer(number_integer_t value) override {
    return is_id() ? bad_id() : add(value);  // below 0
  }
  bool number_float(number_float_t value, const string_t&) override {
    return is_id() ? bad_id() : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (top() == Place::vocabulary) {
      if (value >= UINT32_MAX) return bad_id();
      out_.tokens.push_back(key_);
      out_.ids.push_back(static_cast<uint32_t>(value));
      return true;
    }
    if (is_id()) {
      out_.added.back().id = value;
      has_id_ = true;
      return true;
    }
    return add(value);
  }
  bool string(string_t& value) override {
    switch (top()) {
      case Place::model:
        if (key_ == "type") out_.model = value;
        if (key_ == "unk_token") out_.unknown_token = value;
        if (key_ == "continuing_subword_prefix") out_.subword_prefix = value;
        if (key_ == "end_of_word_suffix") out_.word_suffix = value;
        return is_part() ? bad_part() : true;
      case Place::merges:
        add_merge(value);
        return true;
      case Place::merge:
        if (pair_.size() < 3) pair_.push_back(std::move(value));
        return true;
      case Place::added_token:
        if (key_ == "id") return bad_id();
        if (key_ == "content") out_.added.back().text = std::move(value);
        return true;
      case Place::vocabulary:
        return bad_id();
      default:
        return add(std::move(value));
    }
  }
  bool binary(binary_t&) override { return true; }  // JSON has none
  bool key(string_t& value) override {
    key_ = std::move(value);
    if (top() == Place::model && key_ == "max_input_chars_per_word") saw_word_limit_ = true;
    return true;
  }

  bool start_object(size_t) override {
    switch (top()) {
      case Place::none:
        return push(Place::file);
      case Place::file:
        if (key_ == "model") {
          has_model = true;
          return once(saw_model_) && push(Place::model);
        }
        return is_part() ? bad_part() : start_tree(HubJson::object());
      case Place::model:
        if (key_ == "vocab") return once(saw_vocabulary_) && push(Place::vocabulary);
        return is_part() ? bad_part() : push(Place::skipped);
      case Place::added:
        out_.added.emplace_back();
        has_id_ = false;
        return push(Place::added_token);
      case Place::tree:
        return push_node(HubJson::object());
      case Place::vocabulary:
        return bad_id();
      case Place::merges:
      case Place::merge:
        return bad("tokenizer.json has a merge that is no pair of texts");
      default:
        return push(Place::skipped);
    }
  }
  bool start_array(size_t) override {
    switch (top()) {
      case Place::none:
        return bad("tokenizer.json is no object");
      case Place::file:
        if (key_ == "added_tokens") return once(saw_added_) && push(Place::added);
        return start_tree(HubJson::array());
      case Place::model:
        if (key_ == "merges") return once(saw_merges_) && push(Place::merges);
        if (key_ == "vocab") is_list_ = true;
        return push(Place::skipped);
      case Place::merges:
        pair_.clear();
        return push(Place::merge);
      case Place::tree:
        return push_node(HubJson::array());
      case Place::vocabulary:
        return bad_id();
      default:
        return push(Place::skipped);
    }
  }
  bool end_object() override {
    if (top() == Place::added_token && !has_id_) {
      return bad(concat("the added token '", printable(out_.added.back().text),
                        "' of tokenizer.json has no id"));
    }
    return end();
  }
  bool end_array() override {
    if (top() == Place::merge) {
      if (pair_.size() == 2) {
        out_.merges.push_back(pair_[0]);
        out_.merges.push_back(pair_[1]);
      } else {
        ++out_.broken_merges;
      }
    }
    return end();
  }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return bad(concat("tokenizer.json is no valid JSON at byte ", at, ". Download it again"));
  }

  // Files of 2020 don't name the model's type.
  void find_model() {
    if (!out_.model.empty()) return;
    out_.model = is_list_ ? "Unigram" : saw_merges_ ? "BPE" : saw_word_limit_ ? "WordPiece" : "";
  }

 private:
  enum class Place : uint8_t {
    none,
    file,
    model,
    vocabulary,
    merges,
    merge,
    added,
    added_token,
    tree,
    skipped,
  };

  Place top() const { return places_.empty() ? Place::none : places_.back(); }
  bool is_id() const {
    return top() == Place::vocabulary || (top() == Place::added_token && key_ == "id");
  }

  // A list or map of the vocabulary is expected.
  bool is_part() const {
    return (top() == Place::model && (key_ == "vocab" || key_ == "merges")) ||
           (top() == Place::file && key_ == "added_tokens");
  }

  bool bad(std::string message) {
    if (!error) error = Error{Code::bad_file, std::move(message)};
    return false;
  }
  bool bad_id() {
    const std::string_view text =
        top() == Place::added_token ? std::string_view(out_.added.back().text) : key_;
    return bad(concat("the id of token '", printable(text),
                      "' of tokenizer.json is no whole number that ids can have"));
  }
  bool bad_part() {
    return bad(concat("the part '", key_, "' of tokenizer.json has the wrong kind of value"));
  }
  bool once(bool& seen) {
    if (seen) return bad(concat("tokenizer.json has two parts '", printable(key_), "'"));
    return seen = true;
  }

  bool push(Place place) {
    if (places_.size() >= kMaxTokenizerDepth) {
      return bad(concat("tokenizer.json is nested deeper than ", kMaxTokenizerDepth, " levels"));
    }
    places_.push_back(place);
    return true;
  }
  bool end() {
    if (top() == Place::tree) nodes_.pop_back();
    places_.pop_back();
    return true;
  }

  // The parts that are kept as JSON.
  bool start_tree(HubJson node) {
    HubJson* root = key_ == "normalizer"       ? &out_.normalizer
                    : key_ == "pre_tokenizer"  ? &out_.pre_tokenizer
                    : key_ == "post_processor" ? &out_.post_processor
                                               : nullptr;
    if (root == nullptr) return push(Place::skipped);
    *root = std::move(node);
    nodes_.push_back(root);
    return push(Place::tree);
  }
  HubJson* add_node(HubJson value) {
    HubJson& parent = *nodes_.back();
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool count_node() {
    if (++tree_nodes_ <= kMaxTreeNodes) return true;
    return bad(concat("tokenizer.json has more than ", kMaxTreeNodes,
                      " values besides its vocabulary and merges"));
  }
  bool push_node(HubJson node) {
    if (!count_node()) return false;
    nodes_.push_back(add_node(std::move(node)));
    return push(Place::tree);
  }
  template <typename T>
  bool add(T value) {
    if (top() == Place::none) return bad("tokenizer.json is no object");
    if (top() == Place::vocabulary) return bad_id();
    if (is_part() && !HubJson(value).is_null()) return bad_part();
    if (top() != Place::tree) return true;
    if (!count_node()) return false;
    add_node(HubJson(std::move(value)));
    return true;
  }

  // "left right", as older files have it. Texts of other languages hold no spaces.
  void add_merge(std::string_view merge) {
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      ++out_.broken_merges;
      return;
    }
    out_.merges.push_back(merge.substr(0, space));
    out_.merges.push_back(merge.substr(space + 1));
  }

  TokenizerJson& out_;
  std::vector<Place> places_;
  std::vector<HubJson*> nodes_;  // the open ones of a tree
  std::string key_;
  std::vector<std::string> pair_;
  size_t tree_nodes_ = 0;
  bool has_id_ = false;
  bool is_list_ = false;
  bool saw_model_ = false;
  bool saw_vocabulary_ = false;
  bool saw_merges_ = false;
  bool saw_added_ = false;
  bool saw_word_limit_ = false;
};

}  // namespace

Result<TokenizerJson> read_tokenizer_json(std::string_view text) {
  if (text.size() > kMaxTokenizerJson) {
    return fail(Code::bad_file, "tokenizer.json has ", human_bytes(text.size()), "; at most ",
                human_bytes(kMaxTokenizerJson), " are expected");
  }
  TokenizerJson out;
  TokenizerReader reader(out);
  const bool read = HubJson::sax_parse(text.begin(), text.end(), &reader);
  if (reader.error) return std::unexpected(std::move(*reader.error));
  if (!read) return fail(Code::bad_file, "tokenizer.json is no valid JSON. Download it again");
  if (!reader.has_model) {
    return fail(Code::bad_file, "tokenizer.json has no part 'model': there is no vocabulary in it");
  }
  reader.find_model();
  return out;
}

}  // namespace sluice
