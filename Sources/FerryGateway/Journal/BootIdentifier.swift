internal import FerryCore

/// The name of one run of the operating system, from boot to shutdown. Within one run, all processes share one
/// monotonic clock, which is never set back.
package struct BootIdentifier: Hashable, Sendable {
    package static let length = 16

    /// The identifier, with ``length`` bytes.
    package let bytes: [UInt8]

    /// Returns nil if the number of bytes is not ``length``.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Returns nil if the text has another form.
    ///
    /// - Parameter text: 32 hexadecimal digits as Linux has them, with or without hyphens.
    package init?(_ text: String) {
        let digits = text.filter { $0 != "-" && !$0.isWhitespace }
        guard let bytes = [UInt8](hexadecimal: digits.utf8) else { return nil }
        self.init(bytes)
    }
}

/// The time at which a segment of the journal was closed.
struct SegmentTime: Hashable {
    /// The run of the operating system in which the segment was closed; nil if it is not known.
    var boot: BootIdentifier?
    /// The monotonic clock of that run, in milliseconds.
    var milliseconds: UInt64
    var epochSeconds: UInt32
}
