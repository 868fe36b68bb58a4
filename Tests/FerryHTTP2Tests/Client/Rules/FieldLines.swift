/// The HPACK representation of a request's fields (RFC 7541 section 6), read without its tables.
struct FieldLines {
    enum Kind {
        case indexed, incremental, literal, neverIndexed, sizeUpdate
    }

    private(set) var kinds: [String: Kind] = [:]
    /// The fields whose name is spelled out.
    private(set) var spelledOut: [String] = []
    /// The size of the fields in bytes.
    let byteCount: Int

    /// Reads the first HEADERS frame in `bytes`; `names` are the names of its fields, in order.
    init?(of bytes: (some Sequence<UInt8>)?, names: [String]?) {
        guard let bytes, let names, var block = Self.headers(in: Array(bytes)) else { return nil }
        self.byteCount = block.count
        for name in names {
            var kind = Self.kind(&block)
            while kind?.kind == .sizeUpdate { kind = Self.kind(&block) }
            guard let kind else { return nil }
            self.kinds[name] = kind.kind
            if kind.isSpelledOut { self.spelledOut.append(name) }
        }
        guard block.isEmpty else { return nil }
    }

    private static func headers(in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = bytes[...]
        if rest.starts(with: "PRI * HTTP/2.0".utf8) { rest = rest.dropFirst(24) }
        while rest.count >= 9 {
            let frame = Array(rest.prefix(9))
            let length = Int(frame[0]) << 16 | Int(frame[1]) << 8 | Int(frame[2])
            guard frame[3] != 1 else { return rest.dropFirst(9).prefix(length) }
            rest = rest.dropFirst(9 + length)
        }
        return nil
    }

    private static func kind(_ block: inout ArraySlice<UInt8>) -> (kind: Kind, isSpelledOut: Bool)? {
        guard let first = block.first else { return nil }
        let (kind, bits): (Kind, Int) =
            if first & 0x80 != 0 {
                (.indexed, 7)
            } else if first & 0x40 != 0 {
                (.incremental, 6)
            } else if first & 0x20 != 0 {
                (.sizeUpdate, 5)
            } else {
                (first & 0x10 != 0 ? .neverIndexed : .literal, 4)
            }
        let index = self.integer(&block, bits)
        guard kind != .indexed, kind != .sizeUpdate else { return (kind, false) }
        if index == 0 { self.skipString(&block) }
        self.skipString(&block)
        return (kind, index == 0)
    }

    private static func skipString(_ block: inout ArraySlice<UInt8>) {
        let length = self.integer(&block, 7)
        block = block.dropFirst(length)
    }

    private static func integer(_ block: inout ArraySlice<UInt8>, _ bits: Int) -> Int {
        let most = (1 << bits) - 1
        var value = Int(block.popFirst() ?? 0) & most
        guard value == most else { return value }
        var shift = 0
        while let byte = block.popFirst() {
            value += Int(byte & 0x7f) << shift
            shift += 7
            if byte & 0x80 == 0 { break }
        }
        return value
    }
}
