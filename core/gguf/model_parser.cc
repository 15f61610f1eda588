#include "gguf/model_parser.h"

#include <utility>

#include "base/format.h"
#include "gguf/check.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxFiles = 999;  // of a split model

constexpr std::string_view kOtherFiles =
    ". The files are damaged or belong to different models: get all of them again from one place";

// A number that each file of a split model has.
Result<uint64_t> number_at(const Gguf& file, std::string_view key) {
  SLUICE_ASSIGN(const auto number, file.get_u64(key));
  if (number) return *number;
  return fail(Code::bad_file, "the file is part of a split model, but has no ", key, kDamaged);
}

}  // namespace

ModelParser::ModelParser(std::vector<uint64_t> file_sizes) : sizes_(std::move(file_sizes)) {
  if (!sizes_.empty()) parser_.set_file_size(sizes_[0]);
}

Result<size_t> ModelParser::push(std::span<const uint8_t> bytes) {
  if (error_) return std::unexpected(*error_);
  Result<size_t> taken = push_to_file(bytes);
  if (!taken) error_ = taken.error();
  return taken;
}

Result<size_t> ModelParser::push_to_file(std::span<const uint8_t> bytes) {
  if (done()) return 0;
  const Result<size_t> taken = parser_.push(bytes);
  if (!taken) return in_this_file(taken.error());
  taken_ += *taken;
  hash_.update(bytes.first(*taken));
  if (parser_.done()) SLUICE_TRY(end_file(parser_.take()));
  return *taken;
}

Status ModelParser::finish() const {
  if (error_) return std::unexpected(*error_);
  if (done()) return {};
  const Status status = parser_.finish();
  if (!status) return in_this_file(status.error());
  return {};
}

Gguf ModelParser::take() {
  model_.header_hash = hash_.value();
  return std::move(model_);
}

// Says which file of a split model the error is about.
std::unexpected<Error> ModelParser::in_this_file(const Error& error) const {
  const uint64_t n = n_files_ > 0 ? n_files_ : sizes_.size();
  if (n <= 1) return std::unexpected(error);
  return with_facts(fail(error.code, "file ", files_read_ + 1, " of ", n, ": ", error.message),
                    error.facts);
}

// A file's header is complete. Goes on with the next file, if there is one.
Status ModelParser::end_file(Gguf&& file) {
  FilePlace& place = files_.back();
  if (file.file_bytes() > kMaxFile - place.begin) {
    return fail(Code::bad_file, "the model's files would end past 2^53 bytes", kDamaged);
  }
  place.bytes = file.file_bytes();
  if (files_read_ == 0) {
    SLUICE_TRY(begin_model(file));
    model_ = std::move(file);
  } else {
    if (const Status fits = check_later_file(file); !fits) return in_this_file(fits.error());
    add_tensors(std::move(file));
  }
  ++files_read_;
  if (n_files_ > 1 && model_.tensors.size() > n_tensors_) return check_all();
  if (done()) {
    if (n_files_ > 1) SLUICE_TRY(check_all());
    model_.data_bytes = place.begin + place.bytes - model_.data_offset;
    model_.files = files_;
    return {};
  }
  files_.push_back({place.begin + place.bytes, 0});
  taken_ = 0;
  parser_ = GgufParser();
  if (!sizes_.empty()) parser_.set_file_size(sizes_[files_read_]);
  return {};
}

// The first header tells how many files there are.
Status ModelParser::begin_model(const Gguf& first) {
  SLUICE_ASSIGN(const auto count, first.get_u64("split.count"));
  // gguf-split writes 0 into a file that it has merged.
  const uint64_t n_files = count.value_or(1) == 0 ? 1 : count.value_or(1);
  if (n_files > kMaxFiles) {
    return fail(Code::bad_file, "the model is split into ", n_files,
                " files (split.count); expected at most ", kMaxFiles, kDamaged);
  }
  if (n_files == 1) {
    n_files_ = 1;
    if (sizes_.size() <= 1) return {};
    return fail(Code::bad_file, sizes_.size(),
                " files were given, but the first is a whole model by itself: give only that one");
  }
  SLUICE_ASSIGN(const uint64_t number, number_at(first, "split.no"));
  if (sizes_.size() == 1 && number < n_files) {
    return fail(Code::bad_file, "this is file ", number + 1, " of ", n_files,
                " of a split model: give all of them, or the address of the first (its name ends "
                "with -00001-of-",
                std::string(n_files < 10    ? 4
                            : n_files < 100 ? 3
                                            : 2,
                            '0'),
                n_files, ".gguf)");
  }
  if (!sizes_.empty() && sizes_.size() != n_files) {
    return fail(Code::bad_file, "the model is split into ", n_files, " files, but ", sizes_.size(),
                " were given: give all of them, in their order");
  }
  n_files_ = n_files;
  SLUICE_TRY(check_number(first));
  SLUICE_ASSIGN(n_tensors_, number_at(first, "split.tensors.count"));
  if (n_tensors_ > kMaxEntries) {
    return fail(Code::bad_file, "the model's files have ", n_tensors_,
                " tensors together (split.tensors.count); expected at most ", kMaxEntries,
                kDamaged);
  }
  return {};
}

// The file must be the one whose turn it is.
Status ModelParser::check_number(const Gguf& file) const {
  SLUICE_ASSIGN(const uint64_t number, number_at(file, "split.no"));
  if (number == files_read_) return {};
  if (number >= n_files_) {
    return fail(Code::bad_file, "split.no is ", number, "; expected ", files_read_, kDamaged);
  }
  return fail(Code::bad_file, "expected file ", files_read_ + 1, " of ", n_files_,
              " of the split model, found file ", number + 1,
              ": give the files in their order, each once");
}

Status ModelParser::check_later_file(const Gguf& file) const {
  SLUICE_ASSIGN(const uint64_t count, number_at(file, "split.count"));
  if (count != n_files_) {
    return fail(Code::bad_file, "it is of a model of ", count, " files (split.count), the first ",
                "file of one of ", n_files_, kOtherFiles);
  }
  SLUICE_TRY(check_number(file));
  SLUICE_ASSIGN(const uint64_t tensors, number_at(file, "split.tensors.count"));
  if (tensors != n_tensors_) {
    return fail(Code::bad_file, "it is of a model of ", tensors,
                " tensors (split.tensors.count), the first file of one of ", n_tensors_,
                kOtherFiles);
  }
  // Only the first file needs to name the alignment. The parser uses each file's own.
  if (file.find("general.alignment") != nullptr && file.alignment != model_.alignment) {
    return fail(Code::bad_file, "its alignment is ", file.alignment, ", that of the first file ",
                model_.alignment, kOtherFiles);
  }
  return {};
}

void ModelParser::add_tensors(Gguf&& file) {
  const uint64_t data = files_.back().begin + file.data_offset;
  model_.tensors.reserve(model_.tensors.size() + file.tensors.size());
  for (TensorInfo& tensor : file.tensors) {
    tensor.offset += data - model_.data_offset;
    model_.tensors.push_back(std::move(tensor));
  }
}

// Indexes the tensors of all files, and checks what only shows when they are together.
Status ModelParser::check_all() {
  if (model_.tensors.size() != n_tensors_) {
    return fail(Code::bad_file, "the first ", files_read_, " of the model's ", n_files_,
                " files have ", model_.tensors.size(), " tensors; expected ", n_tensors_,
                " in all (split.tensors.count)", kOtherFiles);
  }
  model_.index_tensors();
  if (const auto twice = find_duplicate_tensor(model_)) {
    return fail(Code::bad_file, "the tensor '", printable(*twice),
                "' stands in two of the model's files; expected in one", kOtherFiles);
  }
  return {};
}

}  // namespace sluice
