#include "base/result.h"

namespace sluice {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::bad_file:
      return "bad_file";
    case Code::unsupported_model:
      return "unsupported_model";
    case Code::unsupported_type:
      return "unsupported_type";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::budget_too_small:
      return "budget_too_small";
    case Code::context_full:
      return "context_full";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::busy:
      return "busy";
    case Code::aborted:
      return "aborted";
    case Code::download_failed:
      return "download_failed";
    case Code::download_corrupt:
      return "download_corrupt";
    case Code::offline:
      return "offline";
    case Code::storage_full:
      return "storage_full";
  }
  return "invalid_argument";
}

std::string_view note_code_name(NoteCode code) {
  switch (code) {
    case NoteCode::token_not_in_vocabulary:
      return "token_not_in_vocabulary";
    case NoteCode::unknown_pre_tokenizer:
      return "unknown_pre_tokenizer";
    case NoteCode::no_pre_tokenizer:
      return "no_pre_tokenizer";
    case NoteCode::merges_skipped:
      return "merges_skipped";
    case NoteCode::special_tokens_too_long:
      return "special_tokens_too_long";
    case NoteCode::no_bos_token:
      return "no_bos_token";
    case NoteCode::sampling_value_unusable:
      return "sampling_value_unusable";
    case NoteCode::context_beyond_training:
      return "context_beyond_training";
    case NoteCode::fewer_threads:
      return "fewer_threads";
    case NoteCode::no_chat_template:
      return "no_chat_template";
    case NoteCode::tools_left_out:
      return "tools_left_out";
    case NoteCode::content_parts_joined:
      return "content_parts_joined";
    case NoteCode::content_parts_unknown:
      return "content_parts_unknown";
    case NoteCode::unknown_role:
      return "unknown_role";
  }
  return "";
}

std::string_view note_audience(NoteCode code) {
  switch (code) {
    case NoteCode::tools_left_out:
    case NoteCode::content_parts_joined:
    case NoteCode::content_parts_unknown:
    case NoteCode::unknown_role:
      return "developer";
    default:
      return "user";
  }
}

}  // namespace sluice
