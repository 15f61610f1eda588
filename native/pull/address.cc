#include "pull/address.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <vector>

#include "base/format.h"
#include "pull/text.h"

namespace sluice::pull {
namespace {

constexpr char kDefaultHub[] = "https://huggingface.co";
constexpr size_t kMaxAddress = 4096;  // bytes; a journal has room for it
constexpr size_t kShown = 300;        // bytes of an address in a message
constexpr size_t kSplitSuffix = 20;   // -00001-of-00003.gguf

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// As JavaScript's encodeURIComponent, so that the library makes the same addresses.
std::string encoded(std::string_view segment) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte) != 0) ||
        std::string_view("-_.!~*'()").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

std::string decoded(std::string_view segment) {
  std::string out;
  for (size_t i = 0; i < segment.size(); ++i) {
    const bool escape = segment[i] == '%' && i + 2 < segment.size();
    const int high = escape ? hex_digit(segment[i + 1]) : -1;
    const int low = escape ? hex_digit(segment[i + 2]) : -1;
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += segment[i];
    }
  }
  return out;
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) out.emplace_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return out;
}

std::string joined(const std::vector<std::string>& segments, size_t first) {
  std::string out;
  for (size_t i = first; i < segments.size(); ++i)
    out += concat(i == first ? "" : "/", segments[i]);
  return out;
}

struct Url {
  std::string scheme, host, port, path, query;
  std::string origin() const {
    const bool usual = port.empty() || port == (scheme == "https" ? "443" : "80");
    return concat(scheme, "://", host, usual ? "" : ":", usual ? "" : port);
  }
};

// Encodes in the path and the query what a browser's URL() encodes, so that the library makes the
// same addresses.
std::string encoded_url(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  // curl takes any number of slashes behind the scheme; "://" may stand in a query.
  const size_t host = text.find_first_not_of('/', text.find(':') + 1);
  const size_t path = text.find_first_of("/?#", host);
  const size_t query = text.find_first_of("?#", path);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::string_view special = i < query ? "\"<>`{}" : "\"<>'";
    const bool plain = byte > ' ' && byte < 0x7f && special.find(text[i]) == special.npos;
    if (i < path || plain) {
      out += text[i];
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Result<Url> parse_url(const std::string& text) {
  const auto refuse = [&](std::string_view problem) {
    return fail(Code::invalid_argument, "the address ", printable(text, kShown), " ", problem);
  };
  if (text.size() > kMaxAddress) return refuse(concat("is longer than ", kMaxAddress, " bytes"));
  if (std::ranges::any_of(text, is_control)) return refuse("has control characters in it");
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  const CURLUcode wrong =
      curl_url_set(url.get(), CURLUPART_URL, encoded_url(text).c_str(), CURLU_DISALLOW_USER);
  if (wrong == CURLUE_USER_NOT_ALLOWED) {
    return fail(Code::invalid_argument,
                "the address has a user name or a password in it, which the cache would keep; "
                "leave them out, and for a hub put a token into HF_TOKEN");
  }
  if (wrong != CURLUE_OK) return refuse("is not valid; expected https://host/path/model.gguf");
  const auto part = [&](CURLUPart which) {
    char* found = nullptr;
    if (curl_url_get(url.get(), which, &found, 0) != CURLUE_OK) return std::string();
    const std::unique_ptr<char, decltype(&curl_free)> owned(found, curl_free);
    return std::string(found);
  };
  Url out{lower(part(CURLUPART_SCHEME)), lower(part(CURLUPART_HOST)), part(CURLUPART_PORT),
          part(CURLUPART_PATH), part(CURLUPART_QUERY)};
  if (out.scheme != "http" && out.scheme != "https") return refuse("is not http or https");
  if (out.host.empty()) return refuse("names no host");
  if (out.path.empty()) out.path = "/";
  return out;
}

bool is_path(std::string_view path) {
  for (const std::string& segment : segments_of(path)) {
    if (segment == "." || segment == "..") return false;
  }
  return !path.empty() && !path.starts_with('/') && !path.ends_with('/') &&
         path.find("//") == std::string_view::npos && std::ranges::none_of(path, is_control);
}

Result<Address> checked(Address address, std::string_view text, const std::string& hub) {
  const auto refuse = [&](std::string_view problem) {
    return fail(Code::invalid_argument, "the address ", printable(text, kShown), " ", problem,
                "; expected hf:OWNER/REPO[:FILE or TYPE][@REVISION]");
  };
  if (!is_name(address.owner) || !is_name(address.repo)) return refuse("names no OWNER/REPO");
  if (address.revision.empty()) address.revision = "main";
  if (!is_path(address.revision)) return refuse("names no valid revision");
  if (!address.path.empty() && !is_path(address.path)) return refuse("names no valid file");
  if (address.path.size() + address.revision.size() > kMaxAddress / 4) return refuse("is too long");
  if (std::ranges::any_of(address.type, [](char c) { return is_control(c) || c == '/'; }) ||
      address.type.size() > 100) {
    return refuse("names neither a .gguf file nor a type like Q4_0");
  }
  if (!address.path.empty()) address.url = hub_file(hub, address, address.path);
  return address;
}

// Reads OWNER/REPO[:SELECTOR][@REVISION].
Result<Address> parse_repository(std::string_view rest, std::string_view text,
                                 const std::string& hub) {
  Address address;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    address.revision = rest.substr(at + 1);
    if (address.revision.empty()) address.revision = "@";  // refused below
    rest = rest.substr(0, at);
  }
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    const std::string selector(rest.substr(colon + 1));
    (lower(selector).ends_with(".gguf") ? address.path : address.type) = selector;
    if (selector.empty()) address.type = "/";  // refused below
    rest = rest.substr(0, colon);
  }
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    address.owner = rest.substr(0, slash);
    address.repo = rest.substr(slash + 1);
  }
  if (address.revision == "@") address.revision = "/";
  return checked(std::move(address), text, hub);
}

// Reads the revision at segments[at], and moves `at` behind it.
std::string take_revision(const std::vector<std::string>& segments, size_t& at) {
  if (segments.size() >= at + 3 && segments[at] == "refs") {  // refs/pr/1
    at += 3;
    return concat("refs/", segments[at - 2], "/", segments[at - 1]);
  }
  return segments[at++];
}

// A page of the hub, or nothing if it is another address.
Result<std::optional<Address>> parse_page(const Url& url, std::string_view text,
                                          const std::string& hub) {
  std::vector<std::string> segments = segments_of(url.path);
  for (std::string& segment : segments) segment = decoded(segment);
  constexpr std::array kOthers = {"api", "datasets", "spaces", "docs"};
  if (segments.size() < 2 || std::ranges::find(kOthers, segments[0]) != kOthers.end())
    return std::nullopt;
  Address address;
  address.owner = segments[0];
  address.repo = segments[1];
  if (address.repo.find(':') != std::string::npos) {
    SLUICE_ASSIGN(Address named, parse_repository(joined(segments, 0), text, hub));
    return named;
  }
  if (segments.size() > 3) {
    size_t at = 3;
    const std::string& kind = segments[2];
    address.revision = take_revision(segments, at);
    const std::string rest = joined(segments, at);
    if (kind == "tree") {
      address.folder = rest.empty() ? "" : rest + "/";
    } else if ((kind == "blob" || kind == "resolve" || kind == "raw") && !rest.empty()) {
      address.path = rest;
    } else {
      return std::nullopt;
    }
  } else if (segments.size() == 3 && segments[2] != "tree") {
    return std::nullopt;
  }
  return checked(std::move(address), text, hub);
}

}  // namespace

Result<std::string> hub_origin(const char* endpoint) {
  if (endpoint == nullptr || *endpoint == '\0') return kDefaultHub;
  const auto url = parse_url(endpoint);
  if (!url || url->path != "/" || !url->query.empty()) {
    return fail(Code::invalid_argument, "HF_ENDPOINT is '", printable(endpoint),
                "'; expected an address without a path, like ", kDefaultHub);
  }
  return url->origin();
}

Result<Address> parse_address(std::string_view text, const std::string& hub) {
  if (lower(text.substr(0, 3)) == "hf:") return parse_repository(text.substr(3), text, hub);
  SLUICE_ASSIGN(const Url url, parse_url(std::string(text)));
  const bool usual =
      url.host == "huggingface.co" || url.host == "hf.co" || url.host == "www.huggingface.co";
  if (usual || url.origin() == hub) {
    SLUICE_ASSIGN(auto page, parse_page(url, text, hub));
    if (page) return std::move(*page);
  }
  Address address;
  address.url = concat(url.origin(), url.path, url.query.empty() ? "" : "?", url.query);
  // Bytes beyond ASCII have become three.
  if (address.url.size() > kMaxAddress) {
    return fail(Code::invalid_argument, "the address ", printable(text, 300), " is longer than ",
                kMaxAddress, " bytes when it is encoded; use a shorter one");
  }
  return address;
}

std::string hub_file(const std::string& hub, const Address& of, std::string_view path) {
  std::string url = concat(hub, "/", of.owner, "/", of.repo, "/resolve/", encoded(of.revision));
  for (const std::string& segment : segments_of(path)) url += concat("/", encoded(segment));
  return url;
}

std::string hub_name(const std::string& hub, const Address& of) {
  return concat(hub, "/", of.owner, "/", of.repo, "@", of.revision, ":",
                of.path.empty() ? concat(of.folder, upper(of.type)) : of.path);
}

std::string file_name(std::string_view url) {
  url = url.substr(0, url.find('?'));
  return decoded(url.substr(url.rfind('/') + 1));
}

std::string origin_of(const std::string& url) {
  const auto parsed = parse_url(url);
  return parsed ? parsed->origin() : "";
}

std::optional<Split> split_of(std::string_view name) {
  if (name.size() <= kSplitSuffix) return std::nullopt;
  const std::string_view end = name.substr(name.size() - kSplitSuffix);
  const auto number = [&](size_t at) {
    int value = 0;
    for (const char c : end.substr(at, 5)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf") return std::nullopt;
  const Split split{number(1), number(10)};
  if (split.part < 1 || split.parts > kMaxParts || split.part > split.parts) return std::nullopt;
  return split;
}

std::string shard(std::string name, int part) {
  const std::string digits = concat(part);
  const size_t at = name.size() - kSplitSuffix + 1;
  return name.replace(at, 5, std::string(5 - digits.size(), '0') + digits);
}

}  // namespace sluice::pull
