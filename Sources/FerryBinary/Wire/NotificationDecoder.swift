internal import FerryCore
package import NIOCore

/// A decoder of a client's notifications: commands 0, 1 and 2 in any mix, from a stream that may be split anywhere.
///
/// The decoder keeps no state between calls, and the caller keeps incomplete bytes. Every command gives its length
/// first, so a second call with more bytes costs little. (``NotificationEncoder`` shows the layouts.)
///
/// It tolerates the faults of old clients: items in any order, unknown items, and a last priority item that declares
/// more than it carries. It reads a refused notification to the end, for its identifier and for the start of the next
/// one.
///
/// Cost: constant for each notification, without an allocation.
package struct NotificationDecoder: Sendable {
    /// The longest device token. "Binary Provider API", item 1: "at most 100 bytes".
    package static let maximumTokenLength = 100
    /// The longest frame: twice the size of the five items with the longest payload that a `u16` can declare, so that
    /// unknown items have room.
    package static let maximumFrameLength = 131_072

    package var maximumPayloadLength: Int
    package var maximumFrameLength: Int

    package init(
        maximumPayloadLength: Int = PayloadLimit.binary,
        maximumFrameLength: Int = Self.maximumFrameLength
    ) {
        self.maximumPayloadLength = maximumPayloadLength
        self.maximumFrameLength = maximumFrameLength
    }

    /// The meaning of the bytes.
    package enum Step: Hashable, Sendable {
        /// The notification is not complete.
        case needMore
        /// A notification that a gateway can take.
        case notification(NotificationFrame)
        /// A whole notification that is faulty.
        case refused(NotificationRefusal)
        /// Bytes that are not a notification.
        case violation(NotificationViolation)
    }

    /// Decodes the notification at the front of `buffer` and leaves it there. The ranges are indices of `buffer`. The
    /// caller uses them first, and then moves the reader index by the notification's length.
    package func peek(_ buffer: ByteBuffer) -> Step {
        let origin = buffer.readerIndex
        let step = self.decode(buffer.readableBytesSpan, at: 0)
        guard case .notification(var frame) = step else { return step }
        frame.token = frame.token.lowerBound + origin..<frame.token.upperBound + origin
        frame.payload = frame.payload.lowerBound + origin..<frame.payload.upperBound + origin
        return .notification(frame)
    }

    /// Decodes the notification that begins at `offset`. Its ranges are offsets into `bytes`.
    package func decode(_ bytes: RawSpan, at offset: Int) -> Step {
        guard offset < bytes.byteCount else { return .needMore }
        let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
        switch Command(rawValue: byte) {
        case .frame: return self.decodeFrame(bytes, at: offset)
        case .enhanced: return self.decodeEnhanced(bytes, at: offset)
        case .simple: return self.decodeBody(bytes, at: offset, headerLength: 1, .simple, nil, nil)
        case nil: return .violation(.unknownCommand(byte))
        }
    }

    private func decodeEnhanced(_ bytes: RawSpan, at offset: Int) -> Step {
        guard bytes.byteCount - offset >= 9 else { return .needMore }
        let identifier = bytes.bigEndian(at: offset + 1, as: UInt32.self)
        let expiration = bytes.bigEndian(at: offset + 5, as: UInt32.self)
        return self.decodeBody(bytes, at: offset, headerLength: 9, .enhanced, identifier, expiration)
    }

    /// Decodes the token and payload of commands 0 and 1 after `headerLength` bytes.
    private func decodeBody(
        _ bytes: RawSpan,
        at offset: Int,
        headerLength: Int,
        _ command: Command,
        _ identifier: UInt32?,
        _ expiration: UInt32?
    ) -> Step {
        let tokenStart = offset + headerLength + 2
        guard bytes.byteCount >= tokenStart else { return .needMore }
        let tokenEnd = tokenStart + Int(bytes.bigEndian(at: tokenStart - 2, as: UInt16.self))
        guard bytes.byteCount >= tokenEnd + 2 else { return .needMore }
        let payloadStart = tokenEnd + 2
        let end = payloadStart + Int(bytes.bigEndian(at: tokenEnd, as: UInt16.self))
        guard end - offset <= self.maximumFrameLength else { return .violation(.frameTooLong(end - offset)) }
        guard bytes.byteCount >= end else { return .needMore }
        let frame = NotificationFrame(
            command: command,
            identifier: identifier,
            expiration: expiration,
            priority: nil,
            token: tokenStart..<tokenEnd,
            payload: payloadStart..<end,
            length: end - offset
        )
        return self.checked(frame, fault: nil)
    }

    private func decodeFrame(_ bytes: RawSpan, at offset: Int) -> Step {
        let headerLength = 5
        guard bytes.byteCount - offset >= headerLength else { return .needMore }
        let frameLength = Int(bytes.bigEndian(at: offset + 1, as: UInt32.self))
        guard frameLength <= self.maximumFrameLength else { return .violation(.frameTooLong(frameLength)) }
        let end = offset + headerLength + frameLength
        guard bytes.byteCount >= end else { return .needMore }

        var frame = NotificationFrame(
            command: .frame,
            identifier: nil,
            expiration: nil,
            priority: nil,
            token: offset..<offset,
            payload: offset..<offset,
            length: end - offset
        )
        var fault: NotificationRefusal.Fault?
        var seen: UInt8 = 0
        var position = offset + headerLength
        while position < end {
            guard end - position >= Item.headerLength else {
                fault = fault ?? .itemOverrun
                break
            }
            let item = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
            var length = Int(bytes.bigEndian(at: position + 1, as: UInt16.self))
            position += Item.headerLength
            if length > end - position {
                // go-libapns declares four bytes of priority at the end of the frame and sends one.
                guard item == Item.priority, end - position == 1 else {
                    fault = fault ?? .itemOverrun
                    break
                }
                length = 1
            }
            if Item.deviceToken <= item && item <= Item.priority {
                if seen == 0, item == Item.identifier { frame.beginsWithIdentifier = true }
                let bit = (1 as UInt8) &<< item
                if seen & bit != 0 {
                    fault = fault ?? .duplicateItem(item)
                } else if !frame.set(item, at: position, length: length, in: bytes) {
                    fault = fault ?? .itemSize(item, length)
                }
                seen |= bit
            }
            position += length
        }
        return self.checked(frame, fault: fault)
    }

    /// Judges a notification whose parts are known. A fault of the framing comes first.
    @inline(__always)
    private func checked(_ frame: NotificationFrame, fault: NotificationRefusal.Fault?) -> Step {
        guard let fault = fault ?? self.fault(of: frame) else { return .notification(frame) }
        return .refused(
            NotificationRefusal(
                command: frame.command,
                status: fault.status,
                identifier: frame.identifier,
                fault: fault,
                length: frame.length
            )
        )
    }

    @inline(__always)
    private func fault(of frame: NotificationFrame) -> NotificationRefusal.Fault? {
        if frame.token.isEmpty { return .missingToken }
        if frame.token.count > Self.maximumTokenLength { return .tokenTooLong(frame.token.count) }
        if frame.payload.isEmpty { return .missingPayload }
        if frame.payload.count > self.maximumPayloadLength { return .payloadTooLong(frame.payload.count) }
        return nil
    }
}

extension NotificationFrame {
    /// Notes one of the five known items; returns false when its size is not the documented one.
    @inline(__always)
    fileprivate mutating func set(_ item: UInt8, at position: Int, length: Int, in bytes: RawSpan) -> Bool {
        switch item {
        case Item.deviceToken:
            self.token = position..<position + length
        case Item.payload:
            self.payload = position..<position + length
        case Item.identifier:
            guard length == 4 else { return false }
            self.identifier = bytes.bigEndian(at: position, as: UInt32.self)
        case Item.expiration:
            guard length == 4 else { return false }
            self.expiration = bytes.bigEndian(at: position, as: UInt32.self)
        default:
            guard length == 1 else { return false }
            self.priority = bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
        }
        return true
    }
}

extension RawSpan {
    /// Reads a number in network order, at any alignment. The bounds are checked.
    @inline(__always)
    fileprivate func bigEndian<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Integer.Type
    ) -> Integer {
        Integer(bigEndian: self.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }
}
