import FerryCore
internal import FerryBinary
internal import NIOCore
internal import Testing

struct ErrorResponseTests {
    struct Vector: Decodable {
        var hex: String
        var status: UInt8
        var identifier: UInt32
    }

    /// Reads pieces; returns the steps and the number of bytes of an incomplete response.
    static func read(_ pieces: [ByteBuffer]) -> (steps: [ErrorResponseDecoder.Step], pending: Int) {
        var decoder = ErrorResponseDecoder()
        var steps: [ErrorResponseDecoder.Step] = []
        for var piece in pieces {
            decoding: while true {
                switch decoder.next(in: &piece) {
                case .needMore:
                    #expect(piece.readableBytes == 0)
                    break decoding
                case .response(let response):
                    steps.append(.response(response))
                case .notAResponse(let byte):
                    return (steps + [.notAResponse(firstByte: byte)], piece.readableBytes)
                }
            }
        }
        return (steps, decoder.pendingBytes)
    }

    @Test func `an error response is written and read as the vectors have it, wherever it is cut`() throws {
        let all = try FerryBinaryTests.vectors(lines: "error-responses.jsonl", as: Vector.self)
        #expect(all.count == 13)
        for vector in all {
            let expected = ErrorResponse(status: .init(rawValue: vector.status), identifier: vector.identifier)
            let whole = try bytes(hex: vector.hex)
            #expect(expected.bytes == whole)
            var buffer = ByteBuffer()
            expected.write(to: &buffer)
            #expect(buffer == ByteBuffer(bytes: whole))
            for pieces in splits(whole) {
                let found = Self.read(pieces)
                #expect(found.steps == [.response(expected)])
                #expect(found.pending == 0)
            }
        }
    }

    @Test func `a second error response is read in the same bytes or cut anywhere`() {
        let first = ErrorResponse(status: .noErrorsEncountered, identifier: 1)
        let second = ErrorResponse(status: .shutdown, identifier: 0x0808_0808)
        for pieces in splits(first.bytes + second.bytes) {
            #expect(Self.read(pieces).steps == [.response(first), .response(second)])
        }
    }

    @Test func `other bytes are told from an error response at the first of them`() {
        for byte in UInt8.min...UInt8.max where byte != 8 {
            let found = Self.read([ByteBuffer(bytes: [byte, 8, 8, 8, 8, 8])])
            #expect(found.steps == [.notAResponse(firstByte: byte)])
            #expect(found.pending == 6)
        }
    }

    @Test func `an error response is truncated when the stream ends inside it`() {
        let whole = ErrorResponse(status: .invalidToken, identifier: 5).bytes
        for length in 0..<whole.count {
            for pieces in splits(Array(whole[..<length])) {
                let found = Self.read(pieces)
                #expect(found.steps.isEmpty)
                #expect(found.pending == length)
            }
        }
    }
}
