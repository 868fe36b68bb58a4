internal import FerryCore

/// A row of ``StoreTable/feedback``: under the length (1), the name of the client and the token, APNs' time (4), big-endian.
extension FeedbackRows.Change {
    func row(identities: [String]) -> StoreChange {
        let name = Array(identities[self.identity].utf8.prefix(255))
        return StoreChange(
            .feedback,
            key: [UInt8(name.count)] + name + self.token,
            value: self.since.map { since in withUnsafeBytes(of: since.bigEndian) { Array($0) } }
        )
    }

    /// Returns nil for a row of a client that the configuration does not name, or of another form.
    init?(_ row: StoreRow, identities: [String: Int]) {
        guard let length = row.key.first, row.key.count > Int(length), row.value.count == 4 else { return nil }
        let name = String(decoding: row.key[1...Int(length)], as: UTF8.self)
        guard let identity = identities[name] else { return nil }
        self.init(
            identity: identity,
            token: Array(row.key[(Int(length) + 1)...]),
            since: row.value.reduce(0) { $0 << 8 | UInt32($1) }
        )
    }
}
