#include "files/convert/convert.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "files/convert/conversion.h"
#include "files/convert/convert_rows.h"
#include "files/convert/families.h"
#include "files/gguf_writer.h"
#include "files/hub_json.h"
#include "files/quantize/quantize_rows.h"
#include "files/vocabulary/vocabulary.h"
#include "quant/quant.h"

namespace sluice {

struct ConversionPlan::State {
  HfWeights weights;
  std::string class_name;
  Gguf gguf;
  std::vector<Recipe> recipes;  // of its tensors
  Type type = Type::F16;
  std::vector<std::string> remarks;
  Notes notes;
};

ConversionPlan::ConversionPlan(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConversionPlan::ConversionPlan(ConversionPlan&&) noexcept = default;
ConversionPlan& ConversionPlan::operator=(ConversionPlan&&) noexcept = default;
ConversionPlan::~ConversionPlan() = default;
const Gguf& ConversionPlan::header() const { return state_->gguf; }
Type ConversionPlan::type() const { return state_->type; }
const std::string& ConversionPlan::class_name() const { return state_->class_name; }
const std::vector<std::string>& ConversionPlan::remarks() const { return state_->remarks; }
const Notes& ConversionPlan::notes() const { return state_->notes; }

namespace {

constexpr uint64_t kMaxConfig = 8 << 20;
constexpr uint64_t kMaxTokenizer = 256 << 20;

constexpr Type kConvertTypes[] = {Type::F32, Type::F16, Type::BF16, Type::Q8_0};

bool is_lower(std::string_view text) {
  bool letter = false;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') return false;
    letter = letter || (c >= 'a' && c <= 'z');
  }
  return letter;
}

// "gemma-3-270m-it" as "Gemma 3 270m It": words in small letters begin with a capital, unless they
// begin with a digit or are a version.
std::string title_of(std::string_view folder) {
  std::string title, word;
  const auto end_word = [&] {
    const bool version = word.size() > 1 && word[0] == 'v' && std::isdigit(word[1]) != 0;
    if (is_lower(word) && std::isdigit(word[0]) == 0 && !version) {
      bool first = true;
      for (char& c : word) {
        const bool letter = c >= 'a' && c <= 'z';
        if (letter && first) c = static_cast<char>(c - 'a' + 'A');
        first = !letter;
      }
    }
    if (!word.empty()) title += concat(title.empty() ? "" : " ", word);
    word.clear();
  };
  for (const char c : folder) {
    if (c == '-' || c == ' ') {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return title;
}

// The sampler that the folder recommends, as general.sampling.*.
Status add_sampling(const std::string& text, Gguf& gguf) {
  SLUICE_ASSIGN(const auto json, read_hub_json("generation_config.json", text));
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number()) return {};
    const double value = found->get<double>();
    return std::isfinite(value) && std::abs(value) < 1e9 ? std::optional(value) : std::nullopt;
  };
  if (const auto k = number("top_k"))
    set_value(gguf, "general.sampling.top_k", i32_value(static_cast<int32_t>(*k)));
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"temperature", "temp"},
      {"repetition_penalty", "penalty_repeat"}};
  for (const auto& [from, to] : kNames)
    if (const auto value = number(from))
      set_value(gguf, concat("general.sampling.", to), f32_value(static_cast<float>(*value)));
  return {};
}

// The type of the weights' first matrix, if files have that, else F16.
Type type_of_weights(const HfWeights& weights) {
  for (const SafeTensor& tensor : weights.tensors())
    if (tensor.shape.size() >= 2) return tensor.type == SafeType::bf16 ? Type::BF16 : Type::F16;
  return Type::F16;
}

// The type of a tensor in a file of this type. Small ones, and those that readers want exact, stay
// F32.
Type tensor_type(const TensorInfo& tensor, Type type) {
  constexpr std::string_view kExact[] = {"_norm.weight",         "ffn_gate_inp.weight",
                                         "ssm_conv1d.weight",    "shortconv.conv.weight",
                                         "position_embd.weight", "token_types.weight"};
  const std::string_view name = tensor.name;
  if (tensor.n_dims < 2 || !name.ends_with(".weight")) return Type::F32;
  if (std::ranges::any_of(kExact, [&](auto end) { return name.ends_with(end); })) return Type::F32;
  if (type == Type::Q8_0 && tensor.dims[0] % 32 != 0) return Type::F16;
  return type;
}

Result<VocabularyFiles> read_vocabulary(Folder& folder, std::string config,
                                        std::optional<std::string> generation_config) {
  VocabularyFiles files;
  files.config = std::move(config);
  files.generation_config = std::move(generation_config);
  if (!folder.has("tokenizer.json"))
    return fail(Code::unsupported_model,
                "the folder has no tokenizer.json; save its tokenizer with transformers "
                "(AutoTokenizer.from_pretrained(..).save_pretrained(..))");
  SLUICE_ASSIGN(files.tokenizer, read_whole(folder, "tokenizer.json", kMaxTokenizer));
  SLUICE_ASSIGN(files.tokenizer_config,
                read_if_there(folder, "tokenizer_config.json", kMaxTokenizer));
  SLUICE_ASSIGN(files.sentencepiece, read_if_there(folder, "tokenizer.model", kMaxTokenizer));
  SLUICE_ASSIGN(files.chat_template, read_if_there(folder, "chat_template.jinja", kMaxConfig));
  SLUICE_ASSIGN(files.chat_template_json, read_if_there(folder, "chat_template.json", kMaxConfig));
  return files;
}

}  // namespace

Result<std::optional<Type>> convert_type_named(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper == "AUTO") return std::optional<Type>();
  for (const Type type : kConvertTypes)
    if (upper == traits(type).name) return std::optional(type);
  return fail(Code::invalid_argument, "the type is ", printable(name),
              "; expected auto, F32, F16, BF16 or Q8_0 (other types: sluice quantize)");
}

namespace {

struct ModelClass {
  std::string text;  // of config.json
  HfConfig config;
  std::string name;
  const HfFamily* family;
};

Result<ModelClass> read_class(Folder& folder) {
  if (!folder.has("config.json"))
    return fail(Code::bad_file,
                "the folder has no config.json; a folder of a Hugging Face model is expected");
  SLUICE_ASSIGN(std::string text, read_whole(folder, "config.json", kMaxConfig));
  SLUICE_ASSIGN(HfConfig config, HfConfig::parse(text));
  SLUICE_ASSIGN(const std::string class_name, config.class_name());
  const HfFamily* const family = find_family(class_name);
  if (family == nullptr)
    return with_facts(fail(Code::unsupported_model, "the model is a ", printable(class_name),
                           "; Sluice converts ", family_names()),
                      {{"architecture", printable(class_name)}});
  return ModelClass{std::move(text), std::move(config), class_name, family};
}

}  // namespace

Status check_convertible(Folder& folder) {
  SLUICE_TRY(read_class(folder));
  return {};
}

Result<ConversionPlan> plan_conversion(Folder& folder, const ConvertOptions& options) {
  SLUICE_ASSIGN(ModelClass model, read_class(folder));
  const HfFamily* const family = model.family;
  SLUICE_ASSIGN(HfWeights weights, HfWeights::open(folder));
  auto state =
      std::make_unique<ConversionPlan::State>(ConversionPlan::State{.weights = std::move(weights),
                                                                    .class_name = model.name,
                                                                    .gguf = {},
                                                                    .recipes = {},
                                                                    .remarks = {},
                                                                    .notes = {}});
  state->type = options.type.value_or(type_of_weights(state->weights));
  if (std::ranges::find(kConvertTypes, state->type) == std::end(kConvertTypes))
    return fail(Code::invalid_argument, "a conversion writes F32, F16, BF16 or Q8_0");

  Conversion c(std::move(model.config), state->weights, std::string(family->architecture),
               family->starts);
  SLUICE_ASSIGN(c.pooling, read_pooling(folder));
  SLUICE_ASSIGN(c.text_limit, read_text_limit(folder));
  set_value(c.gguf, "general.architecture", text_value(family->architecture));
  set_value(c.gguf, "general.type", text_value("model"));
  SLUICE_ASSIGN(auto generation, read_if_there(folder, "generation_config.json", kMaxConfig));
  if (generation) SLUICE_TRY(add_sampling(*generation, c.gguf));
  const std::string name = options.name.empty() ? title_of(folder.name()) : options.name;
  if (!name.empty()) set_value(c.gguf, "general.name", text_value(name));
  family->convert(c, state->type);
  set_value(c.gguf, "general.quantization_version", u32_value(2));
  for (const std::string_view part : family->dropped)
    if (c.drop_starts(part))
      c.remarks.push_back(concat("the part that sees or hears is left out (", part, "*)"));
  SLUICE_TRY(c.finish());
  for (TensorInfo& tensor : c.gguf.tensors)
    tensor.type = static_cast<uint32_t>(tensor_type(tensor, state->type));
  SLUICE_TRY(place_tensors(c.gguf));
  SLUICE_ASSIGN(const VocabularyFiles files,
                read_vocabulary(folder, std::move(model.text), std::move(generation)));
  SLUICE_TRY(add_vocabulary(files, c.architecture, c.gguf.find_tensor("token_embd.weight")->dims[1],
                            c.gguf, state->notes));
  SLUICE_TRY(place_tensors(c.gguf));
  state->gguf = std::move(c.gguf);
  state->recipes = std::move(c.recipes);
  state->remarks = std::move(c.remarks);
  return ConversionPlan(std::move(state));
}

namespace {

// A piece of work: some rows of a tensor.
struct Block {
  size_t tensor = 0;
  uint64_t row = 0, n = 0;
  std::vector<float> values;
  std::vector<uint8_t> bytes;  // as they are written
  RowScratch scratch;
  Status status;
};

// The blocks of all tensors, in their order.
class BlockCutter {
 public:
  BlockCutter(const std::vector<Recipe>& recipes, uint64_t most) : recipes_(recipes), most_(most) {}
  // Sets the next block. False: there are no more.
  bool next(Block& block) {
    if (tensor_ == recipes_.size()) return false;
    const Recipe& recipe = recipes_[tensor_];
    block.tensor = tensor_;
    block.row = row_;
    block.n = std::min(std::max<uint64_t>(most_ / recipe.columns, 1), recipe.all_rows() - row_);
    row_ += block.n;
    if (row_ == recipe.all_rows()) {
      ++tensor_;
      row_ = 0;
    }
    return true;
  }

 private:
  const std::vector<Recipe>& recipes_;
  uint64_t most_;  // elements
  size_t tensor_ = 0;
  uint64_t row_ = 0;
};

Status make_block(const Gguf& gguf, const std::vector<Recipe>& recipes, const HfWeights& weights,
                  Block& block) {
  const Recipe& recipe = recipes[block.tensor];
  const TensorInfo& tensor = gguf.tensors[block.tensor];
  const auto type = static_cast<Type>(tensor.type);
  const TypeTraits& t = traits(type);
  block.values.resize(static_cast<size_t>(block.n * recipe.columns));
  block.bytes.resize(static_cast<size_t>(block.n * (recipe.columns / t.block) * t.block_bytes));
  SLUICE_TRY(make_rows(recipe, weights, block.row, block.n, block.values.data(), block.scratch));
  auto status = quantize_rows(type, block.values.data(), static_cast<int64_t>(block.n),
                              static_cast<int64_t>(recipe.columns), nullptr, block.bytes.data());
  if (status) return {};
  Error error = std::move(status).error();
  error.message = concat("tensor ", tensor.name, ": ", error.message);
  return std::unexpected(std::move(error));
}

// Two sets of blocks: one is made by all threads while the other is written by one of them.
class Conveyor {
 public:
  Conveyor(const Gguf& gguf, const std::vector<Recipe>& recipes, const HfWeights& weights,
           Pool& pool, ByteSink& sink)
      : gguf_(gguf),
        recipes_(recipes),
        weights_(weights),
        pool_(pool),
        writer_(gguf, sink),
        blocks_(static_cast<size_t>(pool.size())),
        written_(blocks_.size()),
        cutter_(recipes, most_elements(blocks_.size())) {}

  Status run(const OnFileProgress& progress) {
    SLUICE_TRY(writer_.begin());
    while (true) {
      fill();
      if (n_ == 0 && n_written_ == 0) return {};
      pool_.run([pool = &pool_, conveyor = this, n = static_cast<int64_t>(n_ + 1)](int worker) {
        pool->parallel_for(worker, n, [conveyor](Share share) {
          for (int64_t i = share.begin; i < share.end; ++i)
            i == 0 ? conveyor->write() : conveyor->make(static_cast<size_t>(i - 1));
        });
      });
      SLUICE_TRY(write_status_);
      for (size_t i = 0; i < n_; ++i) SLUICE_TRY(blocks_[i].status);
      const FileProgress now = {
          .done = writer_.written(),
          .total = gguf_.file_bytes(),
          .tensor = n_ > 0 ? gguf_.tensors[blocks_[0].tensor].name : std::string_view()};
      if (progress && !progress(now)) return fail(Code::aborted, "the conversion was interrupted");
      std::swap(blocks_, written_);
      n_written_ = n_;
    }
  }

 private:
  // Of a block. For each of its elements there are up to 8 + 4 + 4 bytes, and as many of the set
  // that is written.
  static uint64_t most_elements(size_t n_blocks) {
    constexpr uint64_t kMemory = 160 << 20, kEach = 32, kMost = 1 << 20;
    return std::min(kMost, kMemory / (kEach * n_blocks));
  }
  void fill() {
    n_ = 0;
    while (n_ < blocks_.size() && cutter_.next(blocks_[n_])) ++n_;
  }
  void make(size_t i) { blocks_[i].status = make_block(gguf_, recipes_, weights_, blocks_[i]); }
  void write() {
    for (size_t i = 0; i < n_written_ && write_status_; ++i)
      write_status_ = writer_.append(written_[i].bytes);
  }

  const Gguf& gguf_;
  const std::vector<Recipe>& recipes_;
  const HfWeights& weights_;
  Pool& pool_;
  GgufWriter writer_;
  std::vector<Block> blocks_, written_;  // that are made, and that are written
  size_t n_ = 0, n_written_ = 0;
  Status write_status_;
  BlockCutter cutter_;
};

}  // namespace

Status convert(const ConversionPlan& plan, Pool& pool, ByteSink& sink,
               const OnFileProgress& progress) {
  const ConversionPlan::State& state = *plan.state_;
  return Conveyor(state.gguf, state.recipes, state.weights, pool, sink).run(progress);
}

}  // namespace sluice
