#if Brotli
    import CBrotli
    import Glibc
    import Testing

    @testable import TowlineCoding

    @Suite("Brotli") struct BrotliStageTests {
        private let content = Coded.text(byteCount: 700)

        @Test("It is undone however its bytes come")
        func arrival() {
            for quality: CInt in [0, 5, 11] {
                expect(Coded.brotli(content, quality: quality), [.brotli], decodeTo: content)
            }
            expect(Coded.brotli([]), [.brotli], decodeTo: [])
            expect([], [.brotli], decodeTo: [])
            expect(Coded.brotli(Coded.gzip(content)), [.gzip, .brotli], decodeTo: content)
            expect(Coded.gzip(Coded.brotli(content)), [.brotli, .gzip], decodeTo: content)
        }

        @Test("The steps of a large content are bounded, and all of it comes", arguments: [10, 24])
        func large(windowLogarithm: CInt) throws {
            let content = Coded.text(byteCount: 1_000_000)
            let coded = Coded.brotli(content, quality: 2, windowLogarithm: windowLogarithm)
            #expect(try decode([coded], [.brotli]) == content)
            #expect(try decode([coded], [.brotli], stepByteCount: 100) == content)
        }

        @Test("A window that only some programs understand is refused")
        func largeWindow() {
            let coded = Coded.brotli(content, quality: 5, windowLogarithm: 26, isLarge: true)
            expect(coded, [.brotli]) {
                if case .damaged(.brotli, _, _) = $0 { true } else { false }
            }
        }

        @Test("Cut anywhere it is refused, and so is anything behind its end")
        func cut() {
            let coded = Coded.brotli(content)
            for count in 1..<coded.count {
                let result = outcome([Array(coded[..<count])], [.brotli])
                #expect(result == .failure(.cutShort(.brotli, offset: count)))
            }
            for tail in [[0], coded] {
                expect(coded + tail, [.brotli]) {
                    $0 == .trailingBytes(.brotli, offset: coded.count)
                }
            }
        }

        @Test("Damage, of which not all can be seen, ends, and in each way alike")
        func damage() {
            let coded = Coded.brotli(content)
            for index in coded.indices {
                for bit in 0..<8 {
                    var damaged = coded
                    damaged[index] ^= 1 << bit
                    let whole = outcome([damaged], [.brotli])
                    let halves = [Array(damaged[..<index]), Array(damaged[index...])]
                    #expect((try? outcome(halves, [.brotli]).get()) == (try? whole.get()))
                }
            }
            expect(Array("<!DOCTYPE html>".utf8), [.brotli]) { _ in true }
        }

        @Test(
            "256 MiB of zeros take no more memory than their window and the buffers",
            .enabled(if: getenv("TOWLINE_SLOWDOWN") == nil, "a sanitizer keeps memory to itself")
        )
        func bomb() async {
            await #expect(processExitsWith: .success) {
                let zeros = [UInt8](repeating: 0, count: 1 << 28)
                let coded = Coded.brotli(zeros, quality: 1, windowLogarithm: 24)
                let grown = try growth(decoding: coded, [.brotli], to: zeros.count)
                #expect(grown < 24 << 20)
            }
        }
    }

    extension Coded {
        static func brotli(
            _ bytes: [UInt8],
            quality: CInt = 9,
            windowLogarithm: CInt = 22,
            isLarge: Bool = false
        ) -> [UInt8] {
            let encoder = BrotliEncoderCreateInstance(nil, nil, nil)
            defer { BrotliEncoderDestroyInstance(encoder) }
            for (parameter, value) in [
                (BROTLI_PARAM_QUALITY, quality), (BROTLI_PARAM_LARGE_WINDOW, isLarge ? 1 : 0),
                (BROTLI_PARAM_LGWIN, windowLogarithm),
            ] {
                #expect(BrotliEncoderSetParameter(encoder, parameter, UInt32(value)) == BROTLI_TRUE)
            }
            var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 1024)
            let made = bytes.withUnsafeBufferPointer { source in
                output.withUnsafeMutableBufferPointer { target in
                    var inputCount = source.count
                    var input = source.baseAddress
                    var room = target.count
                    var place = target.baseAddress
                    let isDone = BrotliEncoderCompressStream(
                        encoder,
                        BROTLI_OPERATION_FINISH,
                        &inputCount,
                        &input,
                        &room,
                        &place,
                        nil
                    )
                    #expect(
                        isDone == BROTLI_TRUE && BrotliEncoderIsFinished(encoder) == BROTLI_TRUE
                    )
                    return target.count - room
                }
            }
            return Array(output.prefix(made))
        }
    }
#endif
