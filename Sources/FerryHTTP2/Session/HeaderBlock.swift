internal import CFerryNGHTTP2

/// The fields of one request or response on their way to ``HTTP2Session``: memory that is filled again and again.
///
/// A value that is not written into the block itself is only referred to: it must stay where it is until the block was
/// given to the session, which copies it.
package struct HeaderBlock: ~Copyable {
    /// Apple's requests have eleven fields at most.
    private static let fieldLimit = 24
    /// Bytes of values that are written into the block: a path with 255 bytes of token has 520.
    private static let scratchLimit = 4096

    private let fields: UnsafeMutablePointer<nghttp2_nv>
    private let scratch: UnsafeMutablePointer<UInt8>
    private var scratchCount = 0
    package private(set) var count = 0

    package init() {
        self.fields = .allocate(capacity: Self.fieldLimit)
        self.scratch = .allocate(capacity: Self.scratchLimit)
    }

    deinit {
        self.fields.deallocate()
        self.scratch.deallocate()
    }

    /// How HPACK treats a field (RFC 7541 section 6.2).
    package enum Indexing: Sendable {
        /// As libnghttp2 does it: with incremental indexing, except for `:path` and `authorization`.
        case usual
        /// As a literal that is not put into the table.
        case literal
    }

    package mutating func clear() {
        self.count = 0
        self.scratchCount = 0
    }

    /// Appends a field whose value stays where it is.
    package mutating func append(
        _ name: StaticString,
        _ value: UnsafeBufferPointer<UInt8>,
        _ indexing: Indexing = .usual
    ) {
        guard self.count < Self.fieldLimit else { return assertionFailure("a block has \(Self.fieldLimit) fields") }
        var flags = UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
        if case .literal = indexing { flags |= UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
        (self.fields + self.count).initialize(
            to: nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: UnsafeMutablePointer(mutating: value.baseAddress ?? UnsafePointer(self.scratch)),
                namelen: name.utf8CodeUnitCount,
                valuelen: value.count,
                flags: flags
            )
        )
        self.count += 1
    }

    /// Appends a field with a value that never changes.
    package mutating func append(_ name: StaticString, _ value: StaticString, _ indexing: Indexing = .usual) {
        self.append(
            name,
            UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount),
            indexing
        )
    }

    /// Appends a field whose value `fill` writes: up to `capacity` bytes; it returns how many.
    package mutating func append(
        _ name: StaticString,
        upTo capacity: Int,
        _ indexing: Indexing = .usual,
        fill: (UnsafeMutablePointer<UInt8>) -> Int
    ) {
        guard capacity <= Self.scratchLimit - self.scratchCount else { return assertionFailure("the block is full") }
        let start = self.scratch + self.scratchCount
        let count = fill(start)
        self.scratchCount += count
        self.append(name, UnsafeBufferPointer(start: start, count: count), indexing)
    }

    /// Appends a field with a number as its value.
    package mutating func append(_ name: StaticString, _ number: UInt64, _ indexing: Indexing = .usual) {
        // 2^64 has 20 digits.
        self.append(name, upTo: 20, indexing) { target in
            var (rest, count) = (number, 0)
            repeat {
                target[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
                count += 1
            } while rest > 0
            var digits = UnsafeMutableBufferPointer(start: target, count: count)
            digits.reverse()
            return count
        }
    }

    /// What libnghttp2 wants to see.
    func withFields<R>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> R) -> R {
        body(self.fields, self.count)
    }
}
