/// A value of a statement's parameter, in the binary format of PostgreSQL's protocol.
///
/// An array has the following form; all numbers are big-endian:
/// ```
///   0            4         8       12      16              20
///   ┌────────────┬─────────┬───────┬───────┬───────────────┬──────────┐
///   │ dimensions │ NULLs   │ type  │ count │ first index 1 │ elements │   element: length (4; -1 is NULL), bytes
///   └────────────┴─────────┴───────┴───────┴───────────────┴──────────┘
/// ```
/// An empty array has 0 dimensions, and ends after the type (postgresql.org, `src/backend/utils/adt/arrayfuncs.c`,
/// `array_send`).
package enum PostgresValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    /// 16 bytes.
    case uuid([UInt8])
    case integers([Int64])
    case smallIntegers([Int16?])
    case texts([String?])
    case byteStrings([[UInt8]?])
    case uuids([[UInt8]])

    /// The number of the value's type (`pg_type.dat`); 0 lets the server choose.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .integer: 20
        case .text: 25
        case .bytes: 17
        case .uuid: 2950
        case .integers: 1016
        case .smallIntegers: 1005
        case .texts: 1009
        case .byteStrings: 1001
        case .uuids: 2951
        }
    }

    /// The bytes; nil for NULL.
    var encoded: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): Self.bigEndian(number)
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes), .uuid(let bytes): bytes
        case .integers(let numbers): Self.array(numbers, of: 20, Self.bigEndian)
        case .smallIntegers(let numbers): Self.array(numbers, of: 21) { $0.map(Self.bigEndian) }
        case .texts(let texts): Self.array(texts, of: 25) { $0.map { Array($0.utf8) } }
        case .byteStrings(let strings): Self.array(strings, of: 17) { $0 }
        case .uuids(let uuids): Self.array(uuids, of: 2950) { $0 }
        }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func array<Element>(
        _ elements: [Element],
        of type: UInt32,
        _ encode: (Element) -> [UInt8]?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + 16 * elements.count)
        bytes += Self.bigEndian(Int32(elements.isEmpty ? 0 : 1))
        bytes += Self.bigEndian(Int32(0))
        bytes += Self.bigEndian(type)
        guard !elements.isEmpty else { return bytes }
        bytes += Self.bigEndian(Int32(elements.count))
        bytes += Self.bigEndian(Int32(1))
        for element in elements {
            let encoded = encode(element)
            bytes += Self.bigEndian(Int32(encoded?.count ?? -1))
            if let encoded { bytes += encoded }
        }
        return bytes
    }
}
