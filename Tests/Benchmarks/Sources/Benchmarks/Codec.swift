@testable internal import FerryBinary
@testable internal import FerryCore
import Foundation
internal import NIOCore

/// Returns notifications with tokens of 32 bytes and payloads of 100 bytes.
func notifications(_ count: Int = 100_000) -> BatchRun {
    let payload = Array("{\"aps\":{\"alert\":\"\(String(repeating: "x", count: 81))\"}}".utf8)
    var batch = PushBatch(capacity: count)
    for index in 0..<count {
        let token = (0..<32).map { UInt8(truncatingIfNeeded: index >> ($0 % 4 * 8)) }
        let device = DeviceToken(unchecked: token)
        let notification = PushNotification(
            uncheckedPayload: payload,
            topic: nil,
            pushType: nil,
            priority: nil,
            expiration: nil,
            collapseID: nil,
            apnsID: nil
        )
        do {
            try batch.append(notification, to: device, tag: PushTag(UInt64(index)))
        } catch {
            fatalError("\(error)")
        }
    }
    return batch.takeFirst(count)
}

/// Encodes all notifications of `run`.
func encode(_ run: BatchRun, _ command: Command, into buffer: inout ByteBuffer) {
    let arena = UnsafePointer(run.storage.arena)
    let length = NotificationEncoder.length(of: run.entries[0], command: command) * run.count
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { target in
        guard let base = target.baseAddress else { return 0 }
        var offset = 0
        for index in 0..<run.count {
            offset += NotificationEncoder.write(
                run.entries[index],
                arena: arena,
                identifier: UInt32(truncatingIfNeeded: index + 1),
                command: command,
                to: base + offset
            )
        }
        return offset
    }
}

let codec: [Benchmark] =
    Command.allCases.map { command in
        Benchmark("encode \(command)", count: 100_000) {
            let run = notifications()
            var buffer = ByteBuffer()
            encode(run, command, into: &buffer)
            return {
                buffer.clear()
                encode(run, command, into: &buffer)
                use(buffer)
            }
        }
    }
    + Command.allCases.map { command in
        Benchmark("decode \(command)", count: 100_000) {
            var buffer = ByteBuffer()
            encode(notifications(), command, into: &buffer)
            return {
                let decoder = NotificationDecoder()
                var offset = 0
                while case .notification(let frame) = decoder.decode(buffer.readableBytesSpan, at: offset) {
                    offset += frame.length
                }
                use(offset)
            }
        }
    } + [
        Benchmark("decode error response", count: 100_000) {
            var buffer = ByteBuffer()
            for index in 0..<100_000 as Range<UInt32> {
                ErrorResponse(status: .invalidToken, identifier: index).write(to: &buffer)
            }
            return {
                var decoder = ErrorResponseDecoder()
                while case .response(let response) = decoder.next(in: &buffer) { use(response) }
            }
        },
        Benchmark("decode feedback tuple", count: 100_000) {
            var buffer = ByteBuffer()
            for index in 0..<100_000 as Range<UInt32> {
                let token = DeviceToken(unchecked: [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 32))
                FeedbackTuple(time: Date(timeIntervalSince1970: Double(index)), token: token).write(to: &buffer)
            }
            return {
                var decoder = FeedbackDecoder()
                decoder.append(buffer)
                while let tuple = decoder.next() { use(tuple) }
            }
        },
    ]
