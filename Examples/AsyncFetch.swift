import Towline
import TowlineHTTP
import TowlineHTTPClient

let handle = try Reactor.start(Reactor())
let client = AsyncHTTPClient(on: handle)
for url in CommandLine.arguments.dropFirst() {
    let response = try await client.send(HTTPRequest(.get, url))
    print(response.status, response.url.href)
    print(String(decoding: try await response.collect(upTo: 1 << 20), as: UTF8.self))
}
handle.stop()
await handle.ended()
