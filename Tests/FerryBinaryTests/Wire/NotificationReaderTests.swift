internal import FerryBinary
internal import NIOCore
internal import Testing

@Suite struct NotificationReaderTests {
    /// The items of a stream, by identifier.
    enum Found: Hashable {
        case notification(UInt32?, token: [UInt8])
        case refused(UInt32?)
        case violation
    }

    static func read(_ pieces: [ByteBuffer], with decoder: NotificationDecoder = .init()) -> ([Found], rest: Int) {
        var reader = NotificationReader(decoder)
        var found: [Found] = []
        for piece in pieces {
            reader.read(piece) { item, bytes in
                found.append(Found(item, bytes))
                return .goOn
            }
        }
        return (found, reader.pendingBytes)
    }

    static let stream: [UInt8] =
        enhanced(1, token: [0xa1]) + enhanced(2, token: []) + [0, 0, 1, 0xa3, 0, 2, 0x7b, 0x7d]
        + enhanced(4, token: [0xa4])

    @Test func `the same notifications are found wherever the stream is cut`() {
        for pieces in splits(Self.stream + [1, 0]) {
            let (found, rest) = Self.read(pieces)
            #expect(
                found == [
                    .notification(1, token: [0xa1]), .refused(2), .notification(nil, token: [0xa3]),
                    .notification(4, token: [0xa4]),
                ]
            )
            #expect(rest == 2)
        }
    }

    @Test func `bytes that are not a notification stop the reading, and stay`() {
        for pieces in splits(enhanced(1, token: [1]) + [9]) {
            var reader = NotificationReader(.init())
            var found: [Found] = []
            for piece in pieces {
                reader.read(piece) { item, bytes in
                    found.append(Found(item, bytes))
                    return .goOn
                }
            }
            #expect(found.prefix(2) == [.notification(1, token: [1]), .violation])
            #expect(reader.pendingBytes == 1)
        }
    }

    @Test func `a reader that stops gets the rest with the next bytes`() {
        var reader = NotificationReader(.init())
        var found: [Found] = []
        for piece in [Self.stream, [], []] {
            reader.read(ByteBuffer(bytes: piece)) { item, bytes in
                found.append(Found(item, bytes))
                return .stop
            }
        }
        #expect(found == [.notification(1, token: [0xa1]), .refused(2), .notification(nil, token: [0xa3])])
        #expect(reader.pendingBytes == enhanced(4, token: [0xa4]).count)
    }

    @Test func `a notification that never ends is not kept beyond the decoder's limit`() {
        let decoder = NotificationDecoder(maximumFrameLength: 100)
        let (found, rest) = Self.read([ByteBuffer(bytes: [2, 0, 0, 0, 101])], with: decoder)
        #expect(found == [.violation])
        #expect(rest == 5)
    }
}

extension NotificationReaderTests.Found {
    init(_ item: NotificationReader.Item, _ bytes: Span<UInt8>) {
        self =
            switch item {
            case .notification(let frame):
                .notification(
                    frame.identifier,
                    token: bytes.extracting(frame.token).withUnsafeBufferPointer(Array.init)
                )
            case .refused(let refusal): .refused(refusal.identifier)
            case .violation: .violation
            }
    }
}

/// Returns a notification of command 1 with the payload `{}`.
func enhanced(_ identifier: UInt8, token: [UInt8]) -> [UInt8] {
    [1, 0, 0, 0, identifier, 0, 0, 0, 0, 0, UInt8(token.count)] + token + [0, 2, 0x7b, 0x7d]
}
