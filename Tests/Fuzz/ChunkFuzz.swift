/// Anything at all behind a head that says it is chunked.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let head = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
    let strictHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    guard count > 0 else { return 0 }
    FuzzInput(data, count, behind: data[0] & 16 != 0 ? strictHead : head)?.check()
    return 0
}
