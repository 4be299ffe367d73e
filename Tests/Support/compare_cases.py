"""The command lines that curl and fetch are both run with.

`{plain}` and the like are the addresses of servers, `{tool}` a word of the program's own, `{certs}`
the folder of certificates. Each case runs in a folder of its own that has the FILES below.
"""

FILES = {
    "small.txt": b"first line\nsecond line\n",
    "binary.bin": bytes(range(256)) * 8,
    "large.bin": b"0123456789abcdef" * 131072,
    "form.html": b"<p>form</p>\n",
    "headers.txt": b"X-From-File: one\nX-Another: two\n",
    "part.txt": b"abcdefghij",
    "options.conf": b'# options\nheader = "X-Config: yes"\n-d key=value\ninclude\n',
    "netrc": b"machine 127.0.0.1 login ann password secret\n",
    "format.txt": b"%{http_code} %{method}\n",
    "etag.txt": b'"one"\n',
    "jar.txt": b"# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tjar\tfull\n",
}


class Case:
    def __init__(self, arguments, stdin=b"", replace=None, only=None, codes=()):
        self.arguments = arguments.split() if isinstance(arguments, str) else arguments
        self.stdin = stdin
        self.codes = dict(codes)
        self.replace = replace
        self.only = only


def basics():
    yield from map(Case, [
        "{plain}/echo", "{plain}", "{plain}/echo?a=b&c", "{plain}/echo?a=b#part", "{plain}/missing",
        "-i {plain}/status/200", "-i {plain}/status/404", "-I {plain}/status/200",
        "-I {plain}/large/1000", "-i {plain}/status/204", "-i {plain}/status/304",
        "-i {plain}/early", "-i {plain}/no-reason", "-i {plain}/old", "-i {plain}/chunked",
        "-i {plain}/close", "{plain}/large/3000000", "-N {plain}/chunked",
        "{plain}/echo {plain}/status/200", "--url {plain}/echo --url {plain}/status/201",
        "-o one {plain}/status/200 -o two {plain}/status/500", "-o out {plain}/status/204",
        "-O {plain}/small/name.txt", "-O {plain}/", "-O {plain}/a/b?c=d",
        "-o sub/dir/out --create-dirs {plain}/status/200", "-o sub/dir/out {plain}/status/200",
        "--output-dir sub --create-dirs -o out {plain}/status/200",
        "--output-dir sub --create-dirs -O {plain}/status/200",
        "--remote-name-all {plain}/status/200 {plain}/status/201",
        "-OJ {plain}/disposition?name.txt", "-OJ {plain}/disposition?../up.txt",
        "-OJ {plain}/disposition?a/b.txt", "-OJ {plain}/status/200",
        "-OJ {plain}/disposition?small.txt",
        "-D heads {plain}/status/200", "-D heads -o out {plain}/redirect/1 -L", "-D - {plain}/early",
        "-D heads {plain}/status/200 {plain}/status/201", "-i -o out {plain}/status/200",
        "-f {plain}/status/404", "-f {plain}/status/200", "-f -i {plain}/status/500",
        "-f -o out {plain}/status/404", "--fail-with-body {plain}/status/404",
        "--fail-with-body -o out {plain}/status/500", "--fail-with-body {plain}/status/302",
        "--fail-early -f {plain}/status/404 {plain}/status/200",
        "-f {plain}/status/404 {plain}/status/200", "-f {plain}/status/200 {plain}/status/404",
        "--remove-on-error -o out {plain}/cut", "--max-filesize 10 {plain}/large/100",
        "--max-filesize 1k {plain}/large/100", "-R -o out {plain}/modified",
        "-o out_#1 {plain}/status/{{200,201}}", "-o out_#1_#2 {plain}/echo?[1-2]{{a,b}}",
        "{plain}/status/[200-202]", "-g {plain}/echo?{{a}}", "{plain}/echo?[1-", "{plain}/e{{a",
        "--parallel -o a -o b {plain}/status/200 {plain}/status/201",
    ])


def requests():
    yield from map(Case, [
        "-X DELETE {plain}/echo", "-X CUSTOM {plain}/echo", "-d a=b {plain}/echo",
        "-d a=b -d c=d {plain}/echo", "-d @small.txt {plain}/echo", "-d @headers.txt {plain}/echo",
        "--data-binary @small.txt {plain}/echo", "--data-binary @binary.bin {plain}/echo",
        "--data-raw @small.txt {plain}/echo", "--data-ascii x {plain}/echo",
        "--data-urlencode @small.txt {plain}/echo", "--data-urlencode n@small.txt {plain}/echo",
        "--data-urlencode =a&b {plain}/echo", "--data-urlencode n=a&b/~ {plain}/echo",
        "-G -d a=b {plain}/echo", "-G -d a=b -d c {plain}/echo?x", "-G --data-urlencode a=&b {plain}/echo",
        "-G -I -d a=b {plain}/echo", "-d a=b -X PUT {plain}/echo", "-d a -H Content-Type:x/y {plain}/echo",
        "-d a -H Content-Type: {plain}/echo", "-d  {plain}/echo",
        "--url-query a=b {plain}/echo", "--url-query +a=b&c {plain}/echo?x=y",
        "-T small.txt {plain}/echo", "-T small.txt {plain}/", "-T small.txt {plain}/echo/",
        "-T binary.bin {plain}/echo", "-T large.bin {plain}/echo", "-T missing {plain}/echo",
        "-T small.txt -X POST {plain}/echo", "-T {{small.txt,form.html}} {plain}/echo",
        "-d a -T small.txt {plain}/echo", "-I -d a {plain}/echo", "-I -T small.txt {plain}/echo",
        "--data-binary @large.bin {plain}/echo", "--data-binary @large.bin {plain}/no-continue",
        "-H X-One:1 {plain}/echo", "-H X-Empty; {plain}/echo", "-H Accept: {plain}/echo",
        "-H X-Removed: {plain}/echo", "-H @headers.txt {plain}/echo", "-H nonsense {plain}/echo",
        "-H Host:box.test {plain}/host", "-H X-One:1 -H X-One:2 {plain}/echo",
        "-A me {plain}/agent", "-A  {plain}/agent", "-H User-Agent:you {plain}/agent",
        "-H User-Agent: {plain}/agent", "-e http://from/ {plain}/echo", "-e ;auto -L {plain}/redirect/1",
        "-e http://from/;auto -L {plain}/redirect/2", "-b a=b {plain}/echo", "-b a=b -b c=d {plain}/echo",
        "-r 0-4 {plain}/range", "-r 5- {plain}/range", "-r -5 {plain}/range", "-r 90- {plain}/range",
        "-i -r 0-4 {plain}/range", "-C 10 {plain}/range", "-C 10 -o part.txt {plain}/range",
        "-C - -o part.txt {plain}/range", "-C - -o new.txt {plain}/range", "-C 26 {plain}/range",
        "-C 10 {plain}/echo", "-C 100 {plain}/range", "-0 {plain}/echo", "--http1.1 {plain}/echo",
        "-0 -d a=b {plain}/echo", "-0 -i {plain}/chunked", "--path-as-is {plain}/a/../echo",
        "{plain}/a/../echo", "{plain}/a/./../echo", "--data-binary @large.bin {plain}/expect",
        "-T large.bin {plain}/expect", "-d a {plain}/expect", "--request-target /echo {plain}/other",
        "--request-target * -X OPTIONS {plain}/x", "-z small.txt {plain}/modified",
        "--etag-compare etag.txt {plain}/tag",
        "--etag-save tag.txt {plain}/tag",
        "--etag-compare etag.txt -i {plain}/tag", "-K options.conf {plain}/echo",
        "-X POST {plain}/echo", "-X HEAD -I {plain}/status/200", "-X GET -I {plain}/status/200",
        "-d a {plain}/echo --next -d b {plain}/echo", "-d a {plain}/echo -: {plain}/echo",
        "--expect100-timeout 0.2 --data-binary @large.bin {plain}/echo",
        "-H Expect: --data-binary @large.bin {plain}/echo", "-H Expect: -T large.bin {plain}/echo",
        "-d a -H Expect:100-continue {plain}/echo", "-H Connection:close {plain}/echo",
        "-H Transfer-Encoding:chunked -d a {plain}/echo",
    ])
    yield from [
        Case(["--json", '{{"a":1}}', "{plain}/echo"]),
        Case(["--json", '{{"a":', "--json", "1}}", "{plain}/echo"]),
        Case(["--json", "@small.txt", "-H", "Accept: x/y", "{plain}/echo"]),
        Case(["-z", "Sun, 06 Nov 1994 08:49:36 GMT", "{plain}/modified"]),
        Case(["-z", "Sun, 06 Nov 1994 08:49:37 GMT", "{plain}/modified"]),
        Case(["-z", "-Sun, 06 Nov 1994 08:49:37 GMT", "{plain}/modified"]),
        Case(["-z", "1 Jan 2020", "{plain}/echo"]),
        Case(["-z", "-1 Jan 1990", "{plain}/modified"]),
        Case(["-H", "X-Spaces:   much   ", "{plain}/echo"]),
        Case(["-d", "@-", "{plain}/echo"], stdin=b"from\nstandard\ninput"),
        Case(["--data-binary", "@-", "{plain}/echo"], stdin=b"from\nstandard\ninput"),
        Case(["-T", "-", "{plain}/echo"], stdin=b"from standard input"),
        Case(["-T", "-", "{plain}/echo"], stdin=b"x" * 300_000),
        Case(["-H", "@-", "{plain}/echo"], stdin=b"X-In: yes\n"),
        Case(["-K", "-", "{plain}/echo"], stdin=b'header = "X-In: a b"\n'),
        Case(["-F", "a=b", "{plain}/echo"]),
        Case(["-F", "a=b;type=text/x", "-F", "c=d", "{plain}/echo"]),
        Case(["-F", "f=@small.txt", "{plain}/echo"]),
        Case(["-F", "f=@form.html;filename=other.bin", "{plain}/echo"]),
        Case(["-F", "f=@binary.bin;type=x/y", "{plain}/echo"]),
        Case(["-F", "f=<small.txt", "{plain}/echo"]),
        Case(["-F", 'f="a;b\\"c"', "{plain}/echo"]),
        Case(["-F", 'q"uote=1', "{plain}/echo"]),
        Case(["--form-string", "a=@b;type=c", "{plain}/echo"]),
        Case(["-F", "f=@missing", "{plain}/echo"]),
        Case(["-F", "f=@-;filename=in;type=a/b", "{plain}/echo"], stdin=b"piped"),
        Case(["-F", "nothing", "{plain}/echo"]),
        Case(["-d", "a", "-F", "a=b", "{plain}/echo"]),
    ]


def redirects():
    yield from map(Case, [
        "{plain}/redirect/1", "-L {plain}/redirect/1", "-L -i {plain}/redirect/2",
        "-L {plain}/redirect/5", "-L --max-redirs 2 {plain}/redirect/3",
        "-L --max-redirs 3 {plain}/redirect/3", "-L --max-redirs 0 {plain}/redirect/1",
        "-L --max-redirs -1 {plain}/redirect/3", "-L -d a=b {plain}/redirect/1/301",
        "-L -d a=b {plain}/redirect/1/302", "-L -d a=b {plain}/redirect/1/303",
        "-L -d a=b {plain}/redirect/1/307", "-L -d a=b {plain}/redirect/1/308",
        "-L --post301 -d a=b {plain}/redirect/1/301", "-L --post302 -d a=b {plain}/redirect/1/302",
        "-L --post303 -d a=b {plain}/redirect/1/303", "-L -X PUT -d a=b {plain}/redirect/1/302",
        "-L -X DELETE {plain}/redirect/1/302", "-L -X PUT -d a {plain}/redirect/1/307",
        "-L -T small.txt {plain}/redirect/1/302", "-L -T small.txt {plain}/redirect/1/303",
        "-L -T small.txt {plain}/redirect/1/307", "-L -I {plain}/redirect/1",
        "-L -I {plain}/redirect/1/303", "-L -F a=b {plain}/redirect/1/307",
        "-L -F a=b {plain}/redirect/1/302", "-L {plain}/to/302?/echo?q", "-L {plain}/to/302?echo",
        "-L {plain}/to/302?{other}/echo", "-L -u ann:b {plain}/to/302?{other}/echo",
        "-L -u ann:b {plain}/redirect/1", "--location-trusted -u ann:b {plain}/to/302?{other}/echo",
        "-L -H Authorization:x {plain}/to/302?{other}/echo", "-L -b a=b {plain}/redirect/1",
        "-L -H Authorization:x {plain}/redirect/1", "-L -H X-Kept:1 {plain}/to/302?{other}/echo",
        "-L {plain}/to/302?gopher://x/", "-L {plain}/to/302?file:///etc/passwd",
        "-L {plain}/status/300", "-L {plain}/status/302", "-L {plain}/status/304",
        "-L --proto-redir -http {plain}/redirect/1", "-L -o out {plain}/redirect/1",
        "-L -w %{{url_effective}}|%{{num_redirects}} {plain}/redirect/2",
        "-w %{{redirect_url}} {plain}/redirect/1", "-L -f {plain}/to/302?/status/404",
        "-L --json {{}} {plain}/redirect/1/302", "-L -G -d a=b {plain}/redirect/1",
    ])


def writing():
    names = [
        "http_code", "response_code", "http_version", "method", "num_redirects", "num_connects",
        "num_headers", "content_type", "size_download", "size_upload", "size_header", "remote_ip",
        "local_ip", "ssl_verify_result", "exitcode", "errormsg", "filename_effective", "urlnum",
        "redirect_url", "header_json", "url", "url_effective", "http_connect",
    ]
    for name in names:
        yield Case(["-o", "out", "-w", name + "=%{{" + name + "}}\\n", "{plain}/twice"])
    yield Case(["-o", "out", "-w", "%{{remote_port}}", "{plain}/twice"])
    yield Case(["-o", "out", "-w", "%{{scheme}}", "{plain}/twice"], replace=("HTTP", "http"))
    yield from map(Case, [
        "-w %%|%header{{x-two}}|%header{{none}}\\t\\r\\n\\q {plain}/twice",
        "-w %{{http_code}}%{{stderr}}hidden%{{stdout}}shown {plain}/twice", "-w %{{unknown}}x {plain}/twice",
        "-w %{{open {plain}/twice", "-w @format.txt {plain}/twice", "-d abc -w %{{size_upload}} {plain}/echo",
        "-w %{{num_connects}} {plain}/status/200 {plain}/status/200",
        "-w %{{http_code}}:%{{exitcode}} http://127.0.0.1:1/", "-w %{{onerror}}bad {plain}/status/200",
        "-w %{{onerror}}bad http://127.0.0.1:1/", "-I -w %{{size_download}} {plain}/large/100",
        "-w %{{size_download}} --compressed -o out {plain}/gzip",
        "-w %{{size_request}} -A abcd -H Accept: {plain}/status/200",
    ])


def contents():
    yield from map(Case, [
        "--compressed {plain}/gzip", "{plain}/gzip", "--compressed {plain}/deflate",
        "--compressed {plain}/raw-deflate", "--compressed {plain}/bad-gzip", "{plain}/bad-gzip",
        "--compressed {plain}/unknown-coding", "{plain}/unknown-coding", "--compressed -i {plain}/gzip",
        "--compressed {plain}/encodings", "{plain}/encodings", "--compressed --raw {plain}/gzip",
        "--raw {plain}/chunked", "--raw -i {plain}/large/100", "--compressed -I {plain}/gzip", "--compressed {plain}/status/204",
        "--compressed -H Accept-Encoding:gzip {plain}/gzip", "-H Accept-Encoding:gzip {plain}/gzip",
    ])


def failures():
    yield from map(Case, [
        "{plain}/cut", "{plain}/cut-chunk", "{plain}/bad-chunk", "{plain}/empty", "{plain}/reset",
        "{plain}/bad-length", "{plain}/version", "{plain}/bare", "--http0.9 {plain}/bare",
        "--http0.9 -i {plain}/bare", "-o out {plain}/cut", "http://127.0.0.1:1/", "http://none.invalid/",
        "ftpx://127.0.0.1/", "http://", "http://127.0.0.1:99999/", "http://[::1/",
        "-m 1 {plain}/slow/5", "-m 1 -o out {plain}/drip/5", "--connect-timeout 5 {plain}/echo",
        "--colour {plain}/echo", "-o", "", "{plain}/echo -o out extra", "--max-time x {plain}/echo",
        "--retry -1 {plain}/echo", "--max-redirs x {plain}/echo", "--data", "-E missing.pem {tls}/echo",
        "--cacert missing.pem {tls}/echo", "--cacert small.txt {tls}/echo", "{tls}/echo",
        "--proto =https {plain}/echo", "--proto -all {plain}/echo", "-K missing.conf {plain}/echo",
        "-o /dev/stdin/x {plain}/echo", "-o /nowhere/out {plain}/echo", "-o /dev/full {plain}/large/100000", "-o /dev/null {plain}/echo",
        "-w %{{exitcode}} {plain}/cut", "-w %{{exitcode}}|%{{http_code}} {plain}/empty",
        "--no-silent --silent {plain}/echo", "--no-fail {plain}/status/404",
        "{plain}/early-refusal --data-binary @large.bin", "-T large.bin {plain}/early-refusal",
        "https://{plainplace}/echo", "http://{tlsplace}/echo", "-Y 1000 -y 1 {plain}/drip/4",
    ])


def connections():
    yield from map(Case, [
        "--retry 2 --retry-delay 1 {plain}/flaky/{tool}a/1", "--retry 1 {plain}/flaky/{tool}b/1",
        "--retry 1 --retry-delay 1 -f {plain}/flaky/{tool}c/5",
        "--retry 1 --retry-delay 1 --retry-connrefused http://127.0.0.1:1/",
        "--retry 1 --retry-delay 1 --retry-all-errors {plain}/cut",
        "--retry 3 --retry-delay 1 --retry-max-time 1 {plain}/flaky/{tool}d/9",
        "--resolve box.test:{plainport}:127.0.0.1 http://box.test:{plainport}/host",
        "--connect-to box.test:80:{plainplace} http://box.test/host",
        "--connect-to ::{plainplace} http://box.test/host",
        "--connect-to box.test::{plainplace} http://box.test:7/host",
        "--unix-socket {unix} http://box.test/host", "--unix-socket /nowhere http://box.test/host",
        "-L --unix-socket {unix} http://box.test/redirect/1", "-4 {plain}/echo", "-6 http://127.0.0.1:1/",
        "--interface 127.0.0.1 {plain}/echo", "--limit-rate 20k {plain}/large/20000",
        "--happy-eyeballs-timeout-ms 50 {plain}/echo", "--no-keepalive {plain}/echo",
        "--keepalive-time 10 {plain}/echo", "-u ann:secret {plain}/basic/ann/secret",
        "-u ann:wrong {plain}/basic/ann/secret", "-i -u ann:wrong {plain}/basic/ann/secret",
        "-f -u ann:wrong {plain}/basic/ann/secret", "--basic -u ann:secret {plain}/echo",
        "http://ann:secret@{plainplace}/basic/ann/secret", "http://a%40n:se%3Acret@{plainplace}/echo",
        "--oauth2-bearer token {plain}/bearer", "--netrc-file netrc {plain}/basic/ann/secret",
        "-n {plain}/echo", "--digest -u ann:secret {plain}/digest/ann/secret",
        "--digest -u ann:wrong {plain}/digest/ann/secret", "--digest -u ann:secret -d a=b {plain}/digest/ann/secret",
        "--anyauth -u ann:secret {plain}/digest/ann/secret", "--anyauth -u ann:secret {plain}/basic/ann/secret",
        "-c out.txt {plain}/cookies?a=b", "-b jar.txt {plain}/cookies",
        "-b none.txt {plain}/cookies?a=b {plain}/cookies", "-b jar.txt -b x=y {plain}/cookies",
        "-x {plainplace} http://box.test/echo", "-x http://127.0.0.1:1 http://box.test/echo",
        "-x {plainplace} -U a:b http://box.test/echo", "-x {plainplace} --noproxy * {plain}/echo",
        "-x {plainplace} --noproxy box.test,127.0.0.1 {plain}/echo", "-p -x {plainplace} {other}/echo",
        "--socks5 127.0.0.1:1 {plain}/echo", "-x {plainplace} https://box.test/echo",
    ])


def secured():
    trust = "--cacert {certs}/trust/roots.pem"
    client = "{certs}/client"
    yield from map(Case, [
        f"{trust} {{tls}}/echo", "-k {tls}/echo", f"{trust} -i {{tls}}/status/200",
        f"{trust} -w %{{{{ssl_verify_result}}}} {{tls}}/status/200",
        "--cacert {certs}/trust/other-roots.pem {tls}/echo",
        f"{trust} --resolve good.test:{{tlsport}}:127.0.0.1 https://good.test:{{tlsport}}/host",
        f"{trust} --resolve bad.test:{{tlsport}}:127.0.0.1 https://bad.test:{{tlsport}}/host",
        f"-k --resolve bad.test:{{tlsport}}:127.0.0.1 https://bad.test:{{tlsport}}/host",
        f"{trust} --connect-to good.test:443:{{tlsplace}} https://good.test/host",
        f"{trust} -E {client}/alice-chain.pem --key {client}/alice.key {{mutual}}/status/200",
        f"{trust} -E {client}/alice.p12:correct --cert-type P12 {{mutual}}/status/200",
        f"{trust} -E {client}/garbage.pem {{mutual}}/status/200",
        f"{trust} --tlsv1.2 --tls-max 1.2 {{tls}}/echo", f"{trust} --tlsv1.3 {{tls}}/echo",
        f"{trust} --tlsv1.3 --tls-max 1.2 {{tls}}/echo", f"{trust} --no-alpn {{tls}}/echo",
        f"{trust} -L {{tls}}/to/302?{{plain}}/echo", f"{trust} -L {{plain}}/to/302?{{tls}}/echo",
        f"{trust} -L --proto-redir =https {{tls}}/to/302?{{plain}}/echo",
        f"{trust} {{tls}}/large/1000000", f"{trust} --data-binary @large.bin {{tls}}/echo",
        f"{trust} {{tls}}/chunked", f"{trust} {{tls}}/cut", f"{trust} -u a:b {{tls}}/echo",
        f"{trust} -I {{tls}}/status/200", f"{trust} --pinnedpubkey sha256//{'A' * 43}= {{tls}}/echo",
    ])
    # Whether it shows while sending or while receiving is a matter of time.
    yield Case(f"{trust} {{mutual}}/echo", codes={55: 56})
    yield Case([
        "--cacert", "{certs}/trust/roots.pem", "-E", "{certs}/client/alice.p12:correct horse",
        "--cert-type", "P12", "{mutual}/status/200",
    ])


def others():
    """Against servers that were not made for this: nginx, Python's own, httpbin."""
    for server in ["nginx", "files"]:
        at = "{" + server + "}"
        for line in [
            f"{at}/small.txt", f"-i {at}/small.txt", f"-I {at}/small.txt", f"{at}/none", f"-f {at}/none",
            f"-r 3-9 {at}/small.txt", f"-C 5 {at}/small.txt", f"-O {at}/binary.bin", f"-L {at}/folder",
            f"-R -o out {at}/small.txt", f"-o out {at}/large.bin",
            f"-d a=b {at}/small.txt", f"{at}/small.txt {at}/form.html", f"-0 {at}/small.txt",
            f"-X OPTIONS {at}/small.txt", f"-I -L {at}/folder", f"-w %{{{{content_type}}}} {at}/form.html",
        ]:
            yield Case(line, only=server)
    trust = "--cacert {certs}/trust/roots.pem"
    for line in [
        f"{trust} {{nginxtls}}/small.txt", f"{trust} -i {{nginxtls}}/small.txt", f"-k {{nginxtls}}/small.txt",
        f"{trust} -o out {{nginxtls}}/large.bin", "{nginxtls}/small.txt", "--compressed {nginx}/page.html",
        "--compressed -i {nginx}/page.html", "{nginx}/page.html", "-L {nginx}/moved", "-i {nginx}/moved",
        "{nginx}/denied", "-T small.txt {nginx}/small.txt",
    ]:
        yield Case(line, only="nginx")
    for line in [
        "{httpbin}/get", "-d a=b {httpbin}/post", "-H Expect: -T small.txt {httpbin}/put", "-X PATCH -d x {httpbin}/patch",
        "-X DELETE {httpbin}/delete", "--compressed {httpbin}/gzip", "--compressed {httpbin}/deflate",
        "-L {httpbin}/redirect/3", "-L {httpbin}/relative-redirect/2", "-u a:b {httpbin}/basic-auth/a/b",
        "-u a:c {httpbin}/basic-auth/a/b", "{httpbin}/status/418", "-f {httpbin}/status/503",
        "{httpbin}/headers", "{httpbin}/stream/3", "{httpbin}/bytes/1000?seed=1", "{httpbin}/range/100",
        "-r 10-20 {httpbin}/range/100", "{httpbin}/stream-bytes/5000?seed=2", "-H Authorization:Bearer\\x {httpbin}/bearer",
        "--oauth2-bearer t {httpbin}/bearer", "{httpbin}/drip?duration=0.2&numbytes=5", "-L {httpbin}/redirect-to?url=/get",
        "{httpbin}/encoding/utf8", "{httpbin}/response-headers?X-A=b", "-e x {httpbin}/headers",
        "--digest -u a:b {httpbin}/digest-auth/auth/a/b", "-I {httpbin}/get", "-G -d q=1 {httpbin}/get",
        "-b a=b {httpbin}/cookies", "{httpbin}/json", "{httpbin}/image/png", "--compressed {httpbin}/brotli",
        "-L -b none -c jar {httpbin}/cookies/set?a=b", "{httpbin}/cache", "-H If-None-Match:x {httpbin}/etag/x",
    ]:
        yield Case(line, only="httpbin")


def all_cases():
    for group in [
        basics, requests, redirects, writing, contents, failures, connections, secured, others,
    ]:
        for number, case in enumerate(group()):
            case.name = f"{group.__name__}-{number + 1}"
            yield case
