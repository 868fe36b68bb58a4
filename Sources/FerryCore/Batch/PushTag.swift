/// A number that the caller chooses for a notification and gets back with its outcome.
///
/// Ferry never interprets a tag and never checks that it is unique. With it, the caller finds its row, its index or its
/// pointer again, so Ferry needs no table of tickets. The idea is io_uring's `user_data`.
public struct PushTag: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The number itself, any of 64 bits.
    public var rawValue: UInt64

    /// A tag with this number.
    @inlinable
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// A tag with this number.
    @inlinable
    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// A tag with this number.
    @inlinable
    public init(integerLiteral value: UInt64) {
        self.rawValue = value
    }

    /// The number in decimal digits.
    public var description: String { "\(self.rawValue)" }
}
