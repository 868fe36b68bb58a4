/// The name of one run of the operating system, from its start to its end. Within one run, the monotonic clocks of two
/// processes are one clock, which nobody sets back.
package struct BootIdentifier: Hashable, Sendable {
    package static let length = 16

    /// ``length`` bytes.
    package let bytes: [UInt8]

    /// Returns nil for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Parameter text: 32 hexadecimal digits, with hyphens between them or without, as Linux gives it. Nil for anything
    ///   else.
    package init?(_ text: String) {
        let digits = text.filter { $0 != "-" && !$0.isWhitespace }
        guard digits.utf8.count == 2 * Self.length else { return nil }
        var bytes: [UInt8] = []
        var rest = Substring(digits)
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        self.init(bytes)
    }
}

/// When a segment of the journal was closed.
struct SegmentTime: Hashable {
    /// Nil: the system does not say.
    var boot: BootIdentifier?
    /// Milliseconds of the monotonic clock of that boot.
    var milliseconds: UInt64
    var epochSeconds: UInt32
}
