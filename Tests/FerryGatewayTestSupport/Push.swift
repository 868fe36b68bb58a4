import NIOCore

/// One notification of a caller. A caller that repeats itself on purpose makes two with the same name.
struct Push: Hashable {
    /// Counts the pushes of a world.
    var number: Int
    /// The device token, and with ``isConstant`` the payload. Two pushes with one name cannot be told apart.
    var name: UInt32
    /// Whether the payload is the same for every push, as with device management.
    var isConstant = false

    /// The bytes of a notification with command 1, or in a frame with command 2.
    ///
    /// ```
    ///   1 │ identifier │ expiration │ 4 │ token │ length │ payload
    ///   2 │ length │ 1, 4, token │ 2, length, payload │ 3, 4, identifier │ 4, 4, expiration
    /// ```
    func bytes(
        command: UInt8,
        identifier: UInt32,
        expiration: UInt32,
        beginsWithIdentifier: Bool = false
    ) -> [UInt8] {
        let payload = Array((self.isConstant ? Self.constant : Self.alert).utf8)
        var bytes: [UInt8] = []
        if command == 1 {
            bytes = [1] + Self.big(identifier) + Self.big(expiration) + [0, 4] + Self.big(self.name)
            bytes += [0, UInt8(payload.count)] + payload
        } else {
            let identifier: [UInt8] = [3, 0, 4] + Self.big(identifier)
            var items: [UInt8] = beginsWithIdentifier ? identifier : []
            items += [1, 0, 4] + Self.big(self.name) + [2, 0, UInt8(payload.count)] + payload
            items += (beginsWithIdentifier ? [] : identifier) + [4, 0, 4] + Self.big(expiration)
            bytes = [2] + Self.big(UInt32(items.count)) + items
        }
        return bytes
    }

    private static let alert = #"{"aps":{"alert":"Hello"}}"#
    private static let constant = #"{"aps":{"content-available":1}}"#

    private static func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    static func name(_ token: some Sequence<UInt8>) -> UInt32 { token.reduce(0) { $0 << 8 | UInt32($1) } }
}

/// A push as it was written to a connection.
struct Frame {
    var push: Push
    var identifier: UInt32
    var bytes: [UInt8]
    /// Nil: the first time that it is sent.
    var copy: Copy?
}
