/// Anything at all as a response.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    FuzzInput(data, count)?.check()
    return 0
}
