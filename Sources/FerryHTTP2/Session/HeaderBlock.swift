internal import CFerryNGHTTP2

/// The fields of one request or response on their way to ``HTTP2Session``. The memory is reused for each.
///
/// The block refers to values that are not written into it. Their memory must stay in place until the session, which
/// copies them, was given the block.
package struct HeaderBlock: ~Copyable {
    /// Requests to APNs have eleven fields at most.
    private static let fieldLimit = 24
    /// The bytes of values that are written into the block. The longest path has 520 bytes, for a token of 255 bytes.
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
        /// libnghttp2's default: incremental indexing, except for `:path` and `authorization`.
        case usual
        /// A literal that does not go into the table.
        case literal
    }

    package mutating func clear() {
        self.count = 0
        self.scratchCount = 0
    }

    /// Appends a field that refers to its value. The value's memory must stay in place.
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

    /// Appends a field with a constant value.
    package mutating func append(_ name: StaticString, _ value: StaticString, _ indexing: Indexing = .usual) {
        self.append(
            name,
            UnsafeBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount),
            indexing
        )
    }

    /// Appends a field whose value `fill` writes. `fill` writes up to `capacity` bytes and returns their number.
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
        // The largest number, 2^64 - 1, has 20 digits.
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

    /// Calls `body` with the fields in the form that libnghttp2 needs.
    func withFields<R>(_ body: (UnsafePointer<nghttp2_nv>, Int) -> R) -> R {
        body(self.fields, self.count)
    }
}
