#include "CBareHTTP.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

// libcurl's functions, by their declared types, from the library that is there when the program
// runs: nothing that is linked needs it.
#define EACH_FUNCTION(DO)                                                                          \
    DO(curl_global_init)                                                                           \
    DO(curl_multi_init)                                                                            \
    DO(curl_multi_setopt)                                                                          \
    DO(curl_easy_init)                                                                             \
    DO(curl_easy_setopt)                                                                           \
    DO(curl_easy_getinfo)                                                                          \
    DO(curl_easy_cleanup)                                                                          \
    DO(curl_multi_add_handle)                                                                      \
    DO(curl_multi_remove_handle)                                                                   \
    DO(curl_multi_perform)                                                                         \
    DO(curl_multi_info_read)                                                                       \
    DO(curl_multi_poll)                                                                            \
    DO(curl_multi_cleanup)

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct library {
#define DECLARE(name) __typeof__(&name) name;
    EACH_FUNCTION(DECLARE)
};

static bool load(struct library *library) {
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return false;
#define FIND(name)                                                                                 \
    library->name = (__typeof__(&name))dlsym(handle, #name);                                       \
    if (library->name == NULL)                                                                     \
        return false;
    EACH_FUNCTION(FIND)
    return true;
}

static size_t sink(char *bytes, size_t size, size_t count, void *total) {
    (void)bytes;
    *(size_t *)total += size * count;
    return size * count;
}

static void finish(
    const struct library *curl, CURLM *multi, CURLMsg *message, int64_t *started, int64_t limit,
    struct benchmark_http_result *result) {
    CURL *easy = message->easy_handle;
    long status = 0;
    curl->curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (message->data.result != CURLE_OK || status != 200)
        result->bad++;
    result->done++;
    curl->curl_multi_remove_handle(multi, easy);
    if (*started < limit) {
        ++*started;
        curl->curl_multi_add_handle(multi, easy);
    } else {
        curl->curl_easy_cleanup(easy);
    }
}

bool benchmark_has_libcurl_headers(void) { return true; }

bool benchmark_run_libcurl(
    uint16_t port, int connection_count, int64_t request_count,
    struct benchmark_http_result *result) {
    struct library curl;
    memset(result, 0, sizeof *result);
    if (!load(&curl)) {
        snprintf(result->failure, sizeof result->failure, "libcurl.so.4 is not there");
        return false;
    }
    char url[64];
    size_t total = 0;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
    curl.curl_global_init(CURL_GLOBAL_ALL);
    CURLM *multi = curl.curl_multi_init();
    curl.curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connection_count);
    int64_t started = 0;
    for (; started < connection_count && started < request_count; started++) {
        CURL *easy = curl.curl_easy_init();
        curl.curl_easy_setopt(easy, CURLOPT_URL, url);
        curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, sink);
        curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, &total);
        curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl.curl_multi_add_handle(multi, easy);
    }
    while (result->done < request_count) {
        int running = 0;
        int left = 0;
        CURLMsg *message;
        curl.curl_multi_perform(multi, &running);
        while ((message = curl.curl_multi_info_read(multi, &left)) != NULL)
            if (message->msg == CURLMSG_DONE)
                finish(&curl, multi, message, &started, request_count, result);
        if (result->done < request_count)
            curl.curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    curl.curl_multi_cleanup(multi);
    return true;
}
#else
bool benchmark_has_libcurl_headers(void) { return false; }

bool benchmark_run_libcurl(
    uint16_t port, int connection_count, int64_t request_count,
    struct benchmark_http_result *result) {
    (void)port;
    (void)connection_count;
    (void)request_count;
    memset(result, 0, sizeof *result);
    snprintf(result->failure, sizeof result->failure, "built without libcurl's headers");
    return false;
}
#endif
