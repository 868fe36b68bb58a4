internal import FerryPlatform

/// The clients that share one replay filter: one identity, from one source address.
struct ReplayScope: Hashable, Sendable {
    private enum Address: Hashable, Sendable {
        /// The whole identity, because the address is not known.
        case any
        case host(UInt32)
        /// The first 64 bits of an IPv6 address. One host has many addresses with the same first bits.
        case network(UInt64)
    }

    /// The number of the identity in ``Dispatch``.
    let identity: Int
    private let address: Address

    /// - Parameter address: four or sixteen bytes in network order. With another number of bytes, the scope is the
    ///   whole identity. An IPv4 address in IPv6 form counts as IPv4.
    init(identity: Int, address: [UInt8]) {
        let address = IPNetwork.short(address)
        self.identity = identity
        self.address =
            switch address.count {
            case 4: .host(Self.number(address))
            case 16: .network(Self.number(address.prefix(8)))
            default: .any
            }
    }

    /// The bytes from which the same scope can be made again.
    var addressBytes: [UInt8] {
        switch self.address {
        case .any: []
        case .host(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) }
        case .network(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) } + Array(repeating: 0, count: 8)
        }
    }

    private static func number<Number: FixedWidthInteger>(_ bytes: some Sequence<UInt8>) -> Number {
        bytes.reduce(0) { $0 << 8 | Number($1) }
    }
}
