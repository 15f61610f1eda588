// Tests of native/pull: addresses, the hub's list, the rules of retrying, the journal, cached
// files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/xxh64.h"
#include "pull/address.h"
#include "pull/block_file.h"
#include "pull/cache.h"
#include "pull/http.h"
#include "pull/hub.h"
#include "pull/journal.h"
#include "pull/lock.h"
#include "pull/retry.h"
#include "pull/sha256.h"
#include "pull/verify.h"

namespace sluice::pull {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr char kHub[] = "https://huggingface.co";

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// --- addresses -----------------------------------------------------------------------------------

Address parsed(std::string_view text, const std::string& hub = kHub) {
  auto address = parse_address(text, hub);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message);
  return address ? *address : Address();
}

TEST(PullAddress, RefusesWhatIsTooLongWhenItIsEncoded) {
  std::string path;
  for (int i = 0; i < 1500; ++i) path += "\xc3";  // three bytes each in an address
  const auto refused = parse_address("https://a.example/" + path, kHub);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

TEST(PullAddress, ReadsTheShortForm) {
  const Address plain = parsed("hf:owner/repo");
  EXPECT_EQ(plain.owner, "owner");
  EXPECT_EQ(plain.repo, "repo");
  EXPECT_EQ(plain.revision, "main");
  EXPECT_EQ(plain.url, "");
  EXPECT_EQ(hub_name(kHub, plain), "https://huggingface.co/owner/repo@main:");
  const Address type = parsed("hf:owner/repo:UD-Q4_K_XL@v1");
  EXPECT_EQ(type.type, "UD-Q4_K_XL");
  EXPECT_EQ(type.revision, "v1");
  const Address file = parsed("HF:owner/repo:a b/m\xc3\xa4.gguf@refs/pr/1");
  EXPECT_EQ(file.url, "https://huggingface.co/owner/repo/resolve/refs%2Fpr%2F1/a%20b/m%C3%A4.gguf");
}

TEST(PullAddress, ReadsPagesOfTheHub) {
  const std::string file = "https://huggingface.co/o/r/resolve/main/d/m.gguf";
  for (const char* page : {"https://huggingface.co/o/r/blob/main/d/m.gguf",
                           "https://huggingface.co/o/r/resolve/main/d/m.gguf?download=true#x",
                           "http://hf.co/o/r/raw/main/d/m.gguf"}) {
    EXPECT_EQ(parsed(page).url, file) << page;
  }
  EXPECT_EQ(parsed("https://huggingface.co/o/r/resolve/refs%2Fpr%2F2/m.gguf").revision,
            "refs/pr/2");
  EXPECT_EQ(parsed("https://huggingface.co/o/r/blob/refs/pr/2/m.gguf").path, "m.gguf");
  EXPECT_EQ(parsed("https://huggingface.co/o/r/tree/v2/Q4_0").folder, "Q4_0/");
  EXPECT_EQ(parsed("https://huggingface.co/o/r/").repo, "r");
  const Address typed = parsed("https://hf.co/o/r:Q4_K_M@v1");
  EXPECT_EQ(hub_name(kHub, typed), "https://huggingface.co/o/r@v1:Q4_K_M");
  EXPECT_EQ(hub_name(kHub, parsed("hf:o/r:q4_k_m@v1")), hub_name(kHub, typed));
  EXPECT_EQ(parsed("https://hf.co/o/r:d/m.gguf").url, file);
  // Another hub: the usual one's addresses go there, too.
  const std::string mirror = "http://localhost:8080";
  EXPECT_EQ(parsed("https://hf.co/o/r/blob/main/m.gguf", mirror).url,
            "http://localhost:8080/o/r/resolve/main/m.gguf");
  EXPECT_TRUE(parsed("http://LOCALHOST:8080/o/r", mirror).on_hub());
  EXPECT_FALSE(parsed("http://localhost:8081/o/r", mirror).on_hub());
}

TEST(PullAddress, OtherAddressesAreCanonical) {
  EXPECT_EQ(parsed("HTTP://Example.ORG:80/a/../b.gguf?x=1#y").url, "http://example.org/b.gguf?x=1");
  EXPECT_EQ(parsed("https://e.org:8443/m%20.gguf").url, "https://e.org:8443/m%20.gguf");
  // One slash is enough, and "://" may stand in a query.
  EXPECT_EQ(parsed("https:/e.org/\xC3\xA4 .gguf?x=\"s://e").url,
            "https://e.org/%C3%A4%20.gguf?x=%22s://e");
  EXPECT_EQ(parsed("https://huggingface.co/datasets/o/r/resolve/main/x.gguf").on_hub(), false);
  EXPECT_EQ(file_name("http://e.org/a%20b.gguf?c/d"), "a b.gguf");
  EXPECT_EQ(origin_of("https://E.org:443/x"), "https://e.org");
}

TEST(PullAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"hf:", "hf:a", "hf:a/", "hf:/b", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a/b:", "hf:a/b@",
        "hf:a/b:../m.gguf", "hf:a/b:/m.gguf", "hf:a/b:x/Q4_0", "hf:a/b@../c", "hf:a b/c", "http://",
        "https://[", "http://user@host/m.gguf", "http://user:hunter2@host/m.gguf",
        "http://host/\n.gguf"}) {
    const auto address = parse_address(text, kHub);
    ASSERT_FALSE(address) << text << " -> " << address->url;
    EXPECT_EQ(address.error().code, Code::invalid_argument);
    EXPECT_EQ(address.error().message.find("hunter2"), std::string::npos);
  }
  EXPECT_FALSE(parse_address("https://e.org/" + std::string(5000, 'a'), kHub));
  for (const char* path : {"model.gguf", "./hf:a/b", "/http://x", "ftp://x", ""})
    EXPECT_FALSE(is_address(path)) << path;
  EXPECT_FALSE(hub_origin("file:///etc"));
  EXPECT_FALSE(hub_origin("https://e.org/path"));
  EXPECT_EQ(*hub_origin("https://E.org/"), "https://e.org");
  EXPECT_EQ(*hub_origin(nullptr), kHub);
}

TEST(PullAddress, KnowsPartsOfSplitModels) {
  const auto split = split_of("m-00002-of-00013.gguf");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->part, 2);
  EXPECT_EQ(split->parts, 13);
  EXPECT_EQ(shard("d/m-00002-of-00013.gguf", 13), "d/m-00013-of-00013.gguf");
  for (const char* name : {"-00001-of-00002.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf",
                           "m-00001-of-01000.gguf", "m-0001-of-0002.gguf", "m-00001-of-0000x.gguf",
                           "m-00001-of-00002.GGUF", "m.gguf"}) {
    EXPECT_FALSE(split_of(name)) << name;
  }
}

// --- the hub -------------------------------------------------------------------------------------

std::vector<HubFile> files_named(std::initializer_list<const char*> names) {
  std::vector<HubFile> files;
  for (const char* name : names) files.push_back({name, 1, ""});
  return files;
}

std::string chosen(const std::vector<HubFile>& files, std::string_view address) {
  const auto file = choose_file(files, parsed(address));
  return file ? file->path : "! " + file.error().message;
}

TEST(PullHub, ChoosesByType) {
  const auto files = files_named({"m-Q8_0.gguf", "x/m-Q4_0.gguf", "m.q4_0.gguf", "a-IQ4_0.gguf",
                                  "mmproj-Q4_0.gguf", "b/m-UD-Q4_K_XL-00001-of-00002.gguf",
                                  "b/m-UD-Q4_K_XL-00002-of-00002.gguf", "Q6_K.gguf", "README.md"});
  EXPECT_EQ(chosen(files, "hf:o/r:Q4_0"), "m.q4_0.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r:q8_0"), "m-Q8_0.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r:UD-Q4_K_XL"), "b/m-UD-Q4_K_XL-00001-of-00002.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r:Q4_K_XL"), "b/m-UD-Q4_K_XL-00001-of-00002.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r:Q6_K"), "Q6_K.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r"), "m.q4_0.gguf");
  EXPECT_EQ(chosen(files, "https://hf.co/o/r/tree/main/x"), "x/m-Q4_0.gguf");
  EXPECT_EQ(chosen(files, "hf:o/r:x/m-Q4_0.gguf"), "x/m-Q4_0.gguf");
  const std::string none = chosen(files, "hf:o/r:F16");
  EXPECT_NE(none.find("no file of type F16; there are Q6_K.gguf, a-IQ4_0.gguf"), std::string::npos)
      << none;
  EXPECT_EQ(none.find("mmproj"), std::string::npos);
  EXPECT_EQ(chosen(files_named({"only-F32.gguf"}), "hf:o/r"), "only-F32.gguf");
  EXPECT_EQ(chosen(files_named({"a-F32.gguf", "b-F16.gguf"}), "hf:o/r").substr(0, 2), "! ");
  EXPECT_NE(chosen({}, "hf:o/r").find("has no .gguf file"), std::string::npos);
}

TEST(PullHub, ReadsLists) {
  const std::string sum(64, 'A');
  const auto list = read_list(R"([{"type":"directory","path":"d"},{"type":"file","path":"a.gguf",)"
                              R"("size":7,"lfs":{"oid":")" +
                              sum +
                              R"(","size":7}},{"type":"file","path":5},[],null,)"
                              R"({"type":"file","path":"b","size":-1,"lfs":{"oid":"zz"}}])");
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].sha256, std::string(64, 'a'));
  EXPECT_EQ((*list)[0].bytes, 7u);
  EXPECT_EQ((*list)[1].sha256, "");
  EXPECT_EQ((*list)[1].bytes, 0u);
  for (const char* text : {"", "{}", "<html>", "[1,", "\xff"})
    EXPECT_FALSE(read_list(text)) << text;
  const auto deep = read_list(std::string(100'000, '['));
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message.find("it has values in more than 64 others"), std::string::npos);
  std::string wide = "[0";
  for (int i = 0; i < 1'000'000; ++i) wide += ",0";
  const auto many = read_list(wide);  // not even complete
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().message.find("its JSON has more than 1000000 parts"), std::string::npos);
  // Files of another repository are none of this one.
  for (const char* path : {"../../o/r/resolve/main/m.gguf", "a/../m.gguf", ".."})
    EXPECT_TRUE(read_list(concat(R"([{"type":"file","path":")", path, R"("}])"))->empty()) << path;
  EXPECT_EQ(next_page("<https://h/x?cursor=2>; rel=\"next\""), "https://h/x?cursor=2");
  EXPECT_EQ(next_page("<https://h/a>; rel=\"prev\", <https://h/b>; rel=\"next\""), "https://h/b");
  for (const char* text : {"", "<", "<a", "<a>; rel=\"prev\"", ">a<"})
    EXPECT_EQ(next_page(text), "");
  EXPECT_EQ(list_url(kHub, parsed("hf:o/r@refs/pr/1")),
            "https://huggingface.co/api/models/o/r/tree/refs%2Fpr%2F1?recursive=true");
}

// --- retrying ------------------------------------------------------------------------------------

TEST(PullRetry, ReadsWhatServersAskFor) {
  constexpr int64_t kNow = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after(" 120 ", kNow), 120.0);
  EXPECT_EQ(parse_retry_after("0", kNow), 0.0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", kNow), 30.0);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", kNow), 0.0);
  EXPECT_GT(*parse_retry_after("99999999999999999999", kNow), 1e6);
  for (const char* text : {"", "-5", "soon", "1.5x", "\xff"})
    EXPECT_FALSE(parse_retry_after(text, kNow)) << text;
  EXPECT_EQ(parse_rate_limit("\"resolvers\";r=0;t=30"), 30.0);
  EXPECT_EQ(parse_rate_limit("limit=100, remaining=0, reset=45"), 45.0);
  EXPECT_EQ(parse_rate_limit(" 7"), 7.0);
  for (const char* text : {"", "r=0", "t=", "t=-1", "t=x", ";;;,,"})
    EXPECT_FALSE(parse_rate_limit(text)) << text;
}

TEST(PullRetry, KnowsStatuses) {
  for (const long status : {408, 425, 429, 500, 502, 503, 504}) EXPECT_TRUE(is_passing(status));
  for (const long status : {200, 400, 401, 403, 404, 410, 416, 501, 505})
    EXPECT_FALSE(is_passing(status));
  for (const long status : {401, 403, 404, 410}) EXPECT_TRUE(is_expired(status));
  EXPECT_FALSE(is_expired(400));
}

TEST(PullRetry, PausesGrowUpToEightSeconds) {
  std::mt19937 random(1);
  Pauses pauses;
  for (int round = 0; round < 2; ++round) {
    for (const double pause : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0}) {
      const double found = pauses.next(random);
      EXPECT_GE(found, pause * 0.5);
      EXPECT_LE(found, pause * 1.5);
    }
    pauses.begin_again();
  }
  for (int i = 0; i < 100; ++i) {
    const double wait = with_jitter(100, random);
    EXPECT_GE(wait, 100);
    EXPECT_LE(wait, 111);
  }
}

TEST(PullRetry, PatienceCountsFromTheLastNewByte) {
  Patience patience(60, 1000);
  EXPECT_FALSE(patience.is_over(1059));
  EXPECT_TRUE(patience.is_over(1060));
  patience.renew(1050);
  EXPECT_FALSE(patience.is_over(1109));
  EXPECT_TRUE(patience.is_over(1110));
  // What a server asks for doesn't count; said by two connections it counts once.
  patience.excuse(1060, 1090);
  patience.excuse(1061, 1090);
  patience.excuse(1062, 1095);
  EXPECT_FALSE(patience.is_over(1144));
  EXPECT_TRUE(patience.is_over(1145));
  // A server that asks again and again is given up.
  double now = 2000;
  Patience asked(60, now);
  for (int i = 0; i < Patience::kMaxWaits; ++i) {
    EXPECT_TRUE(asked.excuse(now, now + 1));
    EXPECT_TRUE(asked.excuse(now, now + 1));
    now += 1.5;
  }
  EXPECT_FALSE(asked.excuse(now, now + 1));
  asked.renew(now + 1);
  EXPECT_TRUE(asked.excuse(now + 2, now + 302));
  EXPECT_FALSE(asked.excuse(now + 303, now + 503));
  for (int i = 0; i < Patience::kMaxResolves; ++i) EXPECT_TRUE(patience.may_resolve());
  EXPECT_FALSE(patience.may_resolve());
  patience.renew(1200);
  EXPECT_TRUE(patience.may_resolve());
}

TEST(PullRetry, AServerThatIsNeverReachedIsGivenUpSoon) {
  Patience unknown(60, 1000);
  EXPECT_TRUE(unknown.goes_on(true, 1004));
  EXPECT_EQ(unknown.next_end(true), 1005);
  EXPECT_FALSE(unknown.goes_on(true, 1005));
  Patience answered(60, 1000);  // and then its network went away
  EXPECT_TRUE(answered.goes_on(false, 1001));
  EXPECT_TRUE(answered.goes_on(true, 1030));
  EXPECT_EQ(answered.next_end(true), 1060);
  Patience downloads(60, 1000);
  downloads.renew(1002);
  EXPECT_TRUE(downloads.goes_on(true, 1030));
  EXPECT_FALSE(Patience(2, 1000).goes_on(true, 1002));  // --retry-timeout 2
}

TEST(PullHttp, ReadsContentRange) {
  const auto range = parse_content_range(" bytes 0-99/1234 ");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 0u);
  EXPECT_EQ(range->last, 99u);
  EXPECT_EQ(range->total, 1234u);
  for (const char* text :
       {"", "bytes", "bytes 0-99/*", "bytes */1234", "bytes 99-0/1234", "bytes 0-1234/1234",
        "bytes 0-99/1234x", "bytes -5/10", "items 0-1/2", "bytes 0-99/99999999999999999999"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

// --- the journal ---------------------------------------------------------------------------------

Meta some_meta() {
  Meta meta;
  meta.address = "https://e.org/m.gguf";
  meta.names = {"one", "two"};
  meta.block_bytes = 256 << 10;
  meta.total_bytes = (256 << 10) * 3 + 5;
  meta.etag = "\"x\"";
  meta.sha256 = std::string(64, 'a');
  meta.verified = true;
  meta.created = meta.used = 1790000000000;
  meta.parts = 2;
  meta.part = 1;
  return meta;
}

TEST(PullJournal, HeaderComesBack) {
  const std::string copy = *encode_header({7, some_meta()});
  ASSERT_EQ(copy.size(), kHeaderBytes);
  EXPECT_EQ(copy.substr(0, 8), "SLUICEJ\n");
  EXPECT_EQ(header_version(bytes_of(copy)), 1u);
  const auto header = decode_header(bytes_of(copy));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->sequence, 7u);
  EXPECT_EQ(header->meta.names, some_meta().names);
  EXPECT_EQ(header->meta.total_bytes, some_meta().total_bytes);
  EXPECT_EQ(header->meta.n_blocks(), 4u);
  EXPECT_EQ(*encode_header(*header), copy);
}

TEST(PullJournal, KeepsUnknownFields) {
  Meta meta = some_meta();
  meta.other = R"({"later":{"a":[1,2]},"x":"y"})";
  const auto header = decode_header(bytes_of(*encode_header({1, meta})));
  ASSERT_TRUE(header);
  EXPECT_EQ(nlohmann::json::parse(header->meta.other), nlohmann::json::parse(meta.other));
}

TEST(PullJournal, DropsOldNamesIfThereIsNoRoom) {
  Meta meta = some_meta();
  meta.names.clear();
  for (int i = 0; i < 40; ++i)
    meta.names.push_back(std::string(600, static_cast<char>('a' + i % 26)));
  const auto header = decode_header(bytes_of(*encode_header({1, meta})));
  ASSERT_TRUE(header);
  EXPECT_LE(header->meta.names.size(), 16u);
  EXPECT_GE(header->meta.names.size(), 8u);
  EXPECT_EQ(header->meta.names.back(), meta.names.back());
  meta.address = std::string(9000, 'a');
  EXPECT_EQ(encode_header({1, meta}).error().code, Code::invalid_argument);
}

TEST(PullJournal, AnyFlippedByteMakesACopyInvalid) {
  const std::string copy = *encode_header({7, some_meta()});
  const size_t used = 32 + static_cast<uint8_t>(copy[12]) + 256 * static_cast<uint8_t>(copy[13]);
  for (size_t i = 0; i < used; ++i) {
    std::string torn = copy;
    torn[i] = static_cast<char>(torn[i] ^ 4);
    EXPECT_FALSE(decode_header(bytes_of(torn))) << i;
  }
  for (size_t size = 0; size < used; ++size)
    EXPECT_FALSE(decode_header(bytes_of(copy.substr(0, size))));
}

// A copy with this meta text and a hash that fits.
std::string copy_of(std::string_view text) {
  std::string head = "SLUICEJ\n" + std::string(16, '\0');
  const uint32_t version = 1, size = static_cast<uint32_t>(text.size());
  std::memcpy(&head[8], &version, 4);
  std::memcpy(&head[12], &size, 4);
  const std::string hashed = head + std::string(text);
  const uint64_t hash = xxh64(bytes_of(hashed));
  head.append(reinterpret_cast<const char*>(&hash), 8);
  return head + std::string(text);
}

TEST(PullJournal, RefusesHostileMeta) {
  const auto good = nlohmann::json::parse(
      R"({"address":"a","names":[],"blockBytes":262144,"totalBytes":1,"etag":"","lastModified":"",)"
      R"("commit":"","sha256":"","verified":false,"created":1,"used":1,"pinned":false,"set":"",)"
      R"("part":1,"parts":1})");
  EXPECT_TRUE(decode_header(bytes_of(copy_of(good.dump()))));
  for (const char* wrong :
       {R"({"address":5})", R"({"names":{}})", R"({"names":[1]})", R"({"blockBytes":0})",
        R"({"blockBytes":100000})", R"({"blockBytes":1e300})", R"({"totalBytes":-1})",
        R"({"totalBytes":9007199254740993000})", R"({"totalBytes":1.5})", R"({"verified":1})",
        R"({"parts":0})", R"({"parts":1000})", R"({"part":2})", R"({"created":"now"})",
        R"({"totalBytes":9007199254740992})"}) {
    auto meta = good;
    meta.update(nlohmann::json::parse(wrong));
    EXPECT_FALSE(decode_header(bytes_of(copy_of(meta.dump())))) << wrong;
  }
  for (const auto& [key, value] : good.items()) {
    auto meta = good;
    meta.erase(key);
    EXPECT_FALSE(decode_header(bytes_of(copy_of(meta.dump())))) << key;
  }
  auto nested = good;
  for (int depth = 1; depth <= 64; ++depth) {
    EXPECT_TRUE(decode_header(bytes_of(copy_of(nested.dump())))) << depth;
    nested["later"] = nlohmann::json::array({nested["later"]});
  }
  EXPECT_FALSE(decode_header(bytes_of(copy_of(nested.dump()))));
  for (const char* text : {"", "[]", "null", "{", "\xff", "{}"})
    EXPECT_FALSE(decode_header(bytes_of(copy_of(text)))) << text;
}

TEST(PullJournal, TheLargerSequenceCountsAndANewerVersionStopsAll) {
  Meta older = some_meta(), newer = some_meta();
  newer.etag = "newer";
  const std::string a = *encode_header({4, older}), b = *encode_header({5, newer});
  std::string table(4 * 8, '\0');
  table[8] = 9;
  EXPECT_EQ(read_journal(bytes_of(a + b + table)).header->meta.etag, "newer");
  EXPECT_EQ(read_journal(bytes_of(b + a + table)).header->meta.etag, "newer");
  const Journal journal = read_journal(bytes_of(a + std::string(kHeaderBytes, 'x') + table));
  EXPECT_EQ(journal.header->meta.etag, "\"x\"");
  EXPECT_EQ(journal.table, (std::vector<uint64_t>{0, 9, 0, 0}));
  // A table that is cut short: the rest isn't there. One that is too long: the rest is ignored.
  EXPECT_EQ(read_journal(bytes_of(a + b + table.substr(0, 20))).table.size(), 4u);
  EXPECT_EQ(read_journal(bytes_of(a + b + table + table)).table.size(), 4u);
  EXPECT_FALSE(read_journal(bytes_of("")).header);
  std::string future = a;
  future[8] = 2;
  EXPECT_TRUE(read_journal(bytes_of(b + future)).newer);
  EXPECT_TRUE(read_journal(bytes_of(future + b)).newer);
  EXPECT_FALSE(read_journal(bytes_of(a + b)).newer);
}

TEST(PullJournal, BlockSizes) {
  EXPECT_EQ(block_bytes_for(0), 1u << 20);
  EXPECT_EQ(block_bytes_for(1), 256u << 10);
  EXPECT_EQ(block_bytes_for(16 << 20), 256u << 10);
  EXPECT_EQ(block_bytes_for((16 << 20) + 1), 512u << 10);
  EXPECT_EQ(block_bytes_for(uint64_t{1} << 40), 4u << 20);
}

// --- cached files --------------------------------------------------------------------------------

class PullCache : public ::testing::Test {
 protected:
  PullCache() {
    std::string pattern = (fs::temp_directory_path() / "sluice-pull-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }
  ~PullCache() override { fs::remove_all(directory); }

  BlockFile open() { return std::move(*BlockFile::open_to_write(directory, kAddress)); }
  static Bytes block_of(uint8_t value, size_t size) { return Bytes(size, value); }
  static uint64_t hash_of(const Bytes& bytes) { return xxh64(bytes); }
  // Begins a file of two and a half blocks, and writes one of them.
  void write_block(BlockFile& file, uint64_t block, const Bytes& bytes) {
    ASSERT_TRUE(file.write(block * file.block_bytes(), bytes));
    ASSERT_TRUE(file.add_block(block, hash_of(bytes)));
  }

  static constexpr char kAddress[] = "https://e.org/m.gguf";
  static constexpr uint64_t kBlock = 256 << 10;
  static constexpr uint64_t kTotal = kBlock * 2 + 100;
  std::string directory;
};

TEST_F(PullCache, GoesOnWhereAProcessEnded) {
  {
    BlockFile file = open();
    EXPECT_FALSE(file.complete());
    ASSERT_TRUE(file.begin(file.meta(), kTotal));
    write_block(file, 2, block_of(3, 100));
    write_block(file, 0, block_of(1, kBlock));
  }
  BlockFile file = open();
  EXPECT_EQ(file.total(), kTotal);
  EXPECT_TRUE(file.has(0) && !file.has(1) && file.has(2));
  EXPECT_EQ(file.stored(), kBlock + 100);
  write_block(file, 1, block_of(2, kBlock));
  EXPECT_TRUE(file.complete());
  PassingSum sum;
  EXPECT_TRUE(file.check(false, &sum, [](uint64_t) {})->empty());
  Sha256 expected;
  expected.add(block_of(1, kBlock));
  expected.add(block_of(2, kBlock));
  expected.add(block_of(3, 100));
  EXPECT_EQ(sum.hex(), expected.hex());
}

TEST_F(PullCache, FindsDamageAndForgetsTheBlock) {
  std::string path;
  {
    BlockFile file = open();
    path = file.path();
    ASSERT_TRUE(file.begin(file.meta(), kTotal));
    write_block(file, 0, block_of(1, kBlock));
    write_block(file, 1, block_of(2, kBlock));
    write_block(file, 2, block_of(3, 100));
  }
  {
    std::fstream flip(path, std::ios::in | std::ios::out | std::ios::binary);
    flip.seekp(kBlock + 5);
    flip.put('x');
  }
  BlockFile file = open();
  EXPECT_EQ(*file.check(false, nullptr, [](uint64_t) {}), (std::vector<uint64_t>{1}));
  EXPECT_TRUE(file.complete());
  EXPECT_EQ(*file.check(true, nullptr, [](uint64_t) {}), (std::vector<uint64_t>{1}));
  EXPECT_FALSE(file.complete());
  EXPECT_FALSE(open().has(1));
  // A file that was cut short lacks its last blocks.
  fs::resize_file(path, kBlock);
  BlockFile cut = open();
  EXPECT_EQ(*cut.check(true, nullptr, [](uint64_t) {}), (std::vector<uint64_t>{2}));
}

TEST_F(PullCache, OnlyAFinishedFileHasTheLastName) {
  const EntryPaths paths(directory, key_of(kAddress));
  {
    BlockFile file = open();
    ASSERT_TRUE(file.begin(file.meta(), kTotal));
    write_block(file, 0, block_of(1, kBlock));
    write_block(file, 2, block_of(3, 100));
    EXPECT_EQ(file.path(), paths.part);
  }
  fs::rename(paths.part, paths.data);  // as an earlier version named it
  EXPECT_FALSE((*BlockFile::open_to_read(directory, kAddress))->finished());
  {
    BlockFile file = open();
    EXPECT_EQ(file.stored(), kBlock + 100);
    EXPECT_FALSE(fs::exists(paths.data));
    write_block(file, 1, block_of(2, kBlock));
    EXPECT_TRUE(file.complete() && !file.finished());
    ASSERT_TRUE(file.finish());
    EXPECT_EQ(file.path(), paths.data);
  }
  EXPECT_TRUE((*list_cache(directory))[0].complete);
  // A new beginning, or damage that is forgotten, takes the name away first.
  { ASSERT_TRUE(open().reset()); }
  EXPECT_FALSE(fs::exists(paths.data));
  EXPECT_TRUE(list_cache(directory)->empty());
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(PullCache, KnowsPathsThatLeadToAnEntry) {
  const std::string key = key_of(kAddress);
  const EntryPaths paths(directory, key);
  fs::create_symlink(paths.data, directory + "/link");
  for (const std::string& path :
       {paths.data, paths.part,
        directory + "/../" + fs::path(directory).filename().string() + "/" + key + ".gguf",
        directory + "/link"})
    EXPECT_EQ(key_at(directory, path), key) << path;
  for (const std::string& path :
       {paths.journal, directory + "/m.gguf", directory, std::string(), "/tmp/" + key + ".gguf"})
    EXPECT_EQ(key_at(directory, path), "") << path;
  EXPECT_FALSE(*meta_of(directory, key));
  std::ofstream(paths.data) << "x";
  EXPECT_EQ(meta_of(directory, key).error().code, Code::bad_file);
}

TEST_F(PullCache, AnEntryOfAnotherAddressOrVersionIsNotTaken) {
  { ASSERT_TRUE(open().begin(open().meta(), kTotal)); }
  const EntryPaths mine(directory, key_of(kAddress));
  const EntryPaths other(directory, key_of("https://e.org/other.gguf"));
  fs::copy_file(mine.journal, other.journal);
  EXPECT_FALSE(*BlockFile::open_to_read(directory, "https://e.org/other.gguf"));
  std::fstream journal(mine.journal, std::ios::in | std::ios::out | std::ios::binary);
  journal.seekp(8);
  journal.put(2);
  journal.close();
  const auto refused = BlockFile::open_to_write(directory, kAddress);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("newer version"), std::string::npos);
}

TEST_F(PullCache, SaysWhatRoomIsMissing) {
  BlockFile file = open();
  const Status begun = file.begin(file.meta(), uint64_t{1} << 50);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, Code::storage_full);
  EXPECT_NE(begun.error().message.find("1.13 PB more are needed"), std::string::npos)
      << begun.error().message;
}

TEST_F(PullCache, OneWritesOthersWait) {
  const std::string path = directory + "/k.lock";
  {
    const auto first = Lock::try_take(path, Hold::exclusive);
    ASSERT_TRUE(first && *first);
    EXPECT_FALSE(*Lock::try_take(path, Hold::shared));
    EXPECT_FALSE(*Lock::try_take(path, Hold::exclusive));
  }
  auto one = Lock::try_take(path, Hold::shared);
  const auto two = Lock::try_take(path, Hold::shared);
  ASSERT_TRUE(*one && *two);
  EXPECT_FALSE(*Lock::try_take(path, Hold::exclusive));
}

TEST_F(PullCache, ListsFindsAndRemoves) {
  {
    BlockFile file = open();
    Meta meta = file.meta();
    meta.names = {"hub/o/r@main:Q4_0"};
    meta.set = "https://e.org/first";
    ASSERT_TRUE(file.begin(meta, kTotal));
    write_block(file, 2, block_of(3, 100));
  }
  const auto list = list_cache(directory);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].stored, 100u);
  EXPECT_FALSE((*list)[0].complete);
  EXPECT_EQ(find_named(directory, "hub/o/r@main:Q4_0"), "https://e.org/first");
  EXPECT_FALSE(find_named(directory, "hub/o/r@main:Q8_0"));
  const std::string key = key_of(kAddress);
  {
    const auto reader = Lock::try_take(EntryPaths(directory, key).lock, Hold::shared);
    EXPECT_EQ(remove_entry(directory, key).error().code, Code::busy);
    EXPECT_TRUE((*list_cache(directory))[0].in_use);
  }
  Verified verified;
  const auto nothing = [](uint64_t) {};
  EXPECT_TRUE(verify_entry(directory, (*list)[0], verified, nothing));
  EXPECT_FALSE(verified.whole);
  EXPECT_TRUE(*remove_entry(directory, key));
  EXPECT_FALSE(*remove_entry(directory, key));
  // Deleted since it was listed: it isn't good, and nothing is made in its place.
  EXPECT_EQ(verify_entry(directory, (*list)[0], verified, nothing).error().code, Code::not_found);
  EXPECT_TRUE(fs::is_empty(directory));
  EXPECT_TRUE(list_cache(directory + "/none")->empty());
}

}  // namespace
}  // namespace sluice::pull
