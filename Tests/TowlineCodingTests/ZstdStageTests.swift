#if Zstd
    import CZstd
    import Glibc
    import Testing

    @testable import TowlineCoding

    @Suite("Zstandard") struct ZstdStageTests {
        private let content = Coded.text(byteCount: 700)

        @Test("It is undone however its bytes come")
        func arrival() {
            for level: CInt in [-5, 3, 19] {
                expect(Coded.zstd(content, level: level), [.zstd], decodeTo: content)
            }
            expect(Coded.zstd([]), [.zstd], decodeTo: [])
            expect([], [.zstd], decodeTo: [])
            expect(Coded.zstd(Coded.gzip(content)), [.gzip, .zstd], decodeTo: content)
            expect(Coded.gzip(Coded.zstd(content)), [.zstd, .gzip], decodeTo: content)
        }

        @Test("Frames follow each other, and those to be skipped are skipped")
        func frames() {
            let skipped: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 7, 8, 9]
            let empty: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]
            let frames = [
                skipped, Coded.zstd([1]), empty, Coded.zstd([]), Coded.zstd([2]), skipped,
            ]
            expect(Array(frames.joined()), [.zstd], decodeTo: [1, 2])
            expect(skipped, [.zstd], decodeTo: [])
        }

        @Test("The steps of a large content are bounded, and all of it comes")
        func large() throws {
            let content = Coded.text(byteCount: 1_000_000)
            let coded = Coded.zstd(content) + Coded.zstd(content, level: 1)
            #expect(try decode([coded], [.zstd]) == content + content)
            #expect(try decode([coded], [.zstd], stepByteCount: 100) == content + content)
        }

        @Test("A window of 8 MiB is granted, and a larger one refused")
        func window() throws {
            let granted = Coded.zstd(content, windowLogarithm: 23)
            #expect(try decode([granted], [.zstd]) == content)
            let refused = Coded.zstd(content, windowLogarithm: 24)
            expect(refused, [.zstd]) {
                if case .windowTooLarge(.zstd, _) = $0 { true } else { false }
            }
        }

        @Test("Cut anywhere it is refused")
        func cut() {
            let coded = Coded.zstd(content)
            for count in 1..<coded.count {
                let result = outcome([Array(coded[..<count])], [.zstd])
                #expect(result == .failure(.cutShort(.zstd, offset: count)))
            }
        }

        @Test(
            "Nothing but frames may follow a frame, and formats older than the standard are refused"
        )
        func trailing() {
            let coded = Coded.zstd(content)
            for tail: [UInt8] in [[0], [10], [0x27, 0xB5, 0x2F, 0xFD]] {
                expect(coded + tail, [.zstd]) {
                    $0 == .trailingBytes(.zstd, offset: coded.count)
                }
            }
            expect(coded + [0x28], [.zstd]) { $0 == .cutShort(.zstd, offset: coded.count + 1) }
            for first: UInt8 in [0, 0x1E, 0x22, 0x25, 0x27, 0x60] {
                expect([first, 0xB5, 0x2F, 0xFD, 0, 0, 0], [.zstd]) {
                    if case .damaged(.zstd, offset: 0, _) = $0 { true } else { false }
                }
            }
            expect([0x28, 0xB5, 0x2F, 0xFE, 0, 0, 0], [.zstd]) {
                if case .damaged(.zstd, _, _) = $0 { true } else { false }
            }
        }

        @Test("Each damaged bit is an error, or makes no difference")
        func damage() {
            let short = Array(content.prefix(200))
            expectDamageIsSeen(in: Coded.zstd(short), [.zstd], content: short)
        }

        @Test("Being asked again and again without further bytes is no failure")
        func patience() throws {
            let coded = Coded.zstd(content)
            let decoder = try ContentDecoder([.zstd])
            var offset = 0
            for end in [0, 1, 5, coded.count - 1, coded.count] {
                for _ in 0..<40 {
                    let piece = coded.span.bytes.extracting(..<end)
                    while try decoder.step(piece, from: &offset) {}
                }
            }
            try decoder.finish()
            #expect(decoder.decodedByteCount == content.count)
        }

        @Test(
            "A gibibyte of zeros takes no more memory than its window and the buffers",
            .enabled(if: getenv("TOWLINE_SLOWDOWN") == nil, "a sanitizer keeps memory to itself")
        )
        func bomb() async {
            await #expect(processExitsWith: .success) {
                let frame = Coded.zstd([UInt8](repeating: 0, count: 1 << 26), windowLogarithm: 23)
                var coded: [UInt8] = []
                for _ in 0..<16 { coded += frame }
                let grown = try growth(decoding: coded, [.zstd], to: 1 << 30)
                #expect(grown < 16 << 20)
            }
        }
    }

    extension Coded {
        /// One frame with a checksum; the length stands in it only without a window of its own.
        static func zstd(
            _ bytes: [UInt8],
            level: CInt = 3,
            windowLogarithm: CInt? = nil
        ) -> [UInt8] {
            let context = ZSTD_createCCtx()
            defer { ZSTD_freeCCtx(context) }
            ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)
            ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
            if let windowLogarithm {
                ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, windowLogarithm)
                ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)
            }
            var output = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count) + 64)
            let made = bytes.withUnsafeBytes { source in
                output.withUnsafeMutableBytes { target in
                    var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                    var place = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                    // In two calls, so that the library cannot shrink the window to the content.
                    if windowLogarithm != nil {
                        let flushed = ZSTD_compressStream2(context, &place, &input, ZSTD_e_flush)
                        #expect(flushed == 0)
                    }
                    #expect(ZSTD_compressStream2(context, &place, &input, ZSTD_e_end) == 0)
                    return place.pos
                }
            }
            return Array(output.prefix(made))
        }
    }
#endif
