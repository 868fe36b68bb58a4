@testable import FerryBinary
@testable import FerryCore
import NIOCore

/// The property: a stream of commands 0, 1 and 2 gives the same result in any pieces, and its notifications can be
/// written again.
func fuzzNotifications(_ input: inout FuzzInput) {
    let decoder = NotificationDecoder(maximumPayloadLength: input.byte() & 1 == 0 ? 2048 : 65_535)
    let (whole, pieces) = input.pieces()
    require(read([whole], with: decoder) == read(pieces, with: decoder))
}

private func read(_ pieces: [ByteBuffer], with decoder: NotificationDecoder) -> [NotificationDecoder.Step] {
    var steps: [NotificationDecoder.Step] = []
    var buffer = ByteBuffer()
    for piece in pieces {
        buffer.writeImmutableBuffer(piece)
        while true {
            let step = decoder.peek(buffer)
            switch step {
            case .needMore, .violation: break
            case .notification(let frame):
                writeAgain(frame, in: buffer, with: decoder)
                buffer.moveReaderIndex(forwardBy: frame.length)
            case .refused(let refusal):
                buffer.moveReaderIndex(forwardBy: refusal.length)
            }
            if step == .needMore { break }
            steps.append(step)
            if case .violation = step { return steps }
        }
    }
    return steps
}

private func writeAgain(_ frame: NotificationFrame, in buffer: ByteBuffer, with decoder: NotificationDecoder) {
    let token = buffer.getBytes(at: frame.token.lowerBound, length: frame.token.count)!
    let payload = buffer.getBytes(at: frame.payload.lowerBound, length: frame.payload.count)!
    let nothing = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
    var batch = PushBatch(capacity: 1)
    let isAppended = token.withUnsafeBufferPointer { token in
        payload.withUnsafeBufferPointer { payload in
            batch.append(
                token: token,
                payload: payload,
                topic: nothing,
                collapseID: nothing,
                apnsID: nil,
                pushType: nil,
                priority: frame.priority.flatMap(Priority.init(rawValue:)),
                expiration: frame.expiration.map { Expiration(epochSeconds: $0) },
                tag: 0
            )
        }
    }
    require(isAppended)
    let entry = batch.storage.entries[0]
    let length = NotificationEncoder.length(of: entry, command: frame.command)
    var written = ByteBuffer()
    written.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { target in
        NotificationEncoder.write(
            entry,
            arena: batch.storage.arena,
            identifier: frame.identifier ?? 0,
            command: frame.command,
            to: target.baseAddress!
        )
    }
    require(written.readableBytes == length)
    guard case .notification(let again) = decoder.peek(written) else { fatalError("cannot be read again") }
    require(written.getBytes(at: again.token.lowerBound, length: again.token.count) == token)
    require(written.getBytes(at: again.payload.lowerBound, length: again.payload.count) == payload)
    require(again.command == frame.command && again.identifier ?? 0 == frame.identifier ?? 0)
    require(again.expiration ?? 0 == frame.expiration ?? 0)
    // Commands 0 and 1 have only one form.
    if frame.command != .frame { require(written == buffer.getSlice(at: buffer.readerIndex, length: frame.length)) }
}
