import FerryCore
internal import FerryBinary
internal import NIOCore
internal import Testing

struct NotificationDecoderTests {
    /// Reads a stream that arrives in pieces, as on a connection.
    static func read(_ pieces: [ByteBuffer], with decoder: NotificationDecoder = .init()) throws -> [Expectation] {
        var found: [Expectation] = []
        var buffer = ByteBuffer()
        for piece in pieces {
            buffer.writeImmutableBuffer(piece)
            decoding: while true {
                switch decoder.peek(buffer) {
                case .needMore:
                    break decoding
                case .notification(let frame):
                    found.append(
                        .accepted(
                            token: try #require(
                                buffer.getBytes(at: frame.token.lowerBound, length: frame.token.count)
                            ),
                            payload: try #require(
                                buffer.getBytes(at: frame.payload.lowerBound, length: frame.payload.count)
                            ),
                            identifier: frame.identifier,
                            expiration: frame.expiration,
                            priority: frame.priority
                        )
                    )
                    buffer.moveReaderIndex(forwardBy: frame.length)
                case .refused(let refusal):
                    buffer.moveReaderIndex(forwardBy: refusal.length)
                    #expect(refusal.status == refusal.fault.status)
                    found.append(.refused(refusal.status, refusal.identifier))
                case .violation:
                    return found + [.closed]
                }
            }
        }
        return found
    }

    @Test(arguments: try FrameVector.all)
    func `notifications are read as the vectors have them, at once, byte by byte and cut anywhere`(
        _ vector: FrameVector
    ) throws {
        let whole = try bytes(hex: vector.hex)
        let expected = [try vector.expectation()]
        #expect(try Self.read([ByteBuffer(bytes: whole)]) == expected)
        for pieces in splits(whole) {
            #expect(try Self.read(pieces) == expected)
        }
    }

    @Test func `all vectors are read from one connection, cut anywhere`() throws {
        let vectors = try FrameVector.all
        var expected: [Expectation] = []
        var stream: [UInt8] = []
        for vector in vectors where try vector.expectation() != .closed {
            expected.append(try vector.expectation())
            stream += try bytes(hex: vector.hex)
        }
        #expect(expected.count == vectors.count - 2)
        for cut in stride(from: 0, through: stream.count, by: 37) {
            let pieces = [ByteBuffer(bytes: stream[..<cut]), ByteBuffer(bytes: stream[cut...])]
            #expect(try Self.read(pieces) == expected)
        }
        #expect(try Self.read(stream.map { ByteBuffer(integer: $0) }) == expected)
    }

    @Test func `a notification is not read before its last byte`() throws {
        for vector in try FrameVector.all where try vector.expectation() != .closed {
            let whole = try bytes(hex: vector.hex)
            for length in 0..<whole.count {
                let part = Array(whole[..<length])
                let step = NotificationDecoder().decode(part.span.bytes, at: 0)
                #expect(step == .needMore)
            }
        }
    }

    @Test func `the identifier of a faulty notification is read even after the fault`() throws {
        let twoPriorities = try bytes(hex: "0200000013" + "05000105" + "0500010a" + "010001aa" + "0300040000002a")
        #expect(try Self.read([ByteBuffer(bytes: twoPriorities)]) == [.refused(.protocolError, 42)])
        let enhanced = try bytes(hex: "01" + "0000002b" + "00000000" + "0000" + "0000")
        #expect(try Self.read([ByteBuffer(bytes: enhanced)]) == [.refused(.missingDeviceToken, 43)])
    }

    @Test(arguments: [3, 4, 5] as [UInt8])
    func `an item of fixed size is refused with any other size`(_ item: UInt8) throws {
        for length in 0...6 where length != (item == 5 ? 1 : 4) {
            let odd = [item, 0, UInt8(length)] + [UInt8](repeating: 1, count: length)
            let items = odd + [1, 0, 1, 0xaa, 2, 0, 2, 0x7b, 0x7d]
            let stream = [2, 0, 0, 0, UInt8(items.count)] + items
            #expect(try Self.read([ByteBuffer(bytes: stream)]) == [.refused(.protocolError, nil)])
        }
    }

    @Test func `a notification is refused if its last item is cut short, unless that is a priority`() throws {
        let header = try bytes(hex: "010001aa" + "0200027b7d")
        for (tail, accepted) in [("05000405", true), ("0500040505", false), ("050004", false), ("0400040000", false)] {
            let items = header + (try bytes(hex: tail))
            let stream = [2, 0, 0, 0, UInt8(items.count)] + items
            let found = try Self.read([ByteBuffer(bytes: stream)])
            let expected: Expectation =
                accepted
                ? .accepted(token: [0xaa], payload: [0x7b, 0x7d], identifier: nil, expiration: nil, priority: 5)
                : .refused(.protocolError, nil)
            #expect(found == [expected], "\(tail)")
        }
    }

    @Test func `notifications are read up to the limit of the payload and of their whole length`() throws {
        let decoder = NotificationDecoder(maximumPayloadLength: 256, maximumFrameLength: 1024)
        func simple(payload count: Int) -> ByteBuffer {
            let header: [UInt8] = [0, 0, 1, 0xaa, UInt8(count >> 8), UInt8(count & 255)]
            return ByteBuffer(bytes: header + Array(repeating: 1, count: count))
        }
        #expect(try Self.read([simple(payload: 256)], with: decoder).first != .refused(.invalidPayloadSize, nil))
        #expect(try Self.read([simple(payload: 257)], with: decoder) == [.refused(.invalidPayloadSize, nil)])
        #expect(try Self.read([simple(payload: 1018)], with: decoder) == [.refused(.invalidPayloadSize, nil)])
        #expect(try Self.read([simple(payload: 1019)], with: decoder) == [.closed])
    }

    @Test func `random bytes never trap the decoder`() throws {
        var randomness = Randomness(state: 2)
        let seeds = try FrameVector.all.map { try bytes(hex: $0.hex) }
        for _ in 0..<20_000 {
            var stream = randomness.bytes(.random(in: 0...80, using: &randomness))
            if Bool.random(using: &randomness), let seed = seeds.randomElement(using: &randomness) {
                stream = seed + stream
                for _ in 0..<Int.random(in: 0...3, using: &randomness) {
                    let index = Int.random(in: 0..<stream.count, using: &randomness)
                    stream[index] = UInt8(truncatingIfNeeded: randomness.next())
                }
            } else if !stream.isEmpty {
                stream[0] %= 3
            }
            let cut = Int.random(in: 0...stream.count, using: &randomness)
            let whole = try Self.read([ByteBuffer(bytes: stream)])
            let pieces = [ByteBuffer(bytes: stream[..<cut]), ByteBuffer(bytes: stream[cut...])]
            #expect(try Self.read(pieces) == whole)
        }
    }
}
