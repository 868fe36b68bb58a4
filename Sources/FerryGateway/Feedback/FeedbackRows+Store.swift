internal import FerryCore

/// A row of ``StoreTable/feedback``. The key is the length of the client's name (1 byte), the name and the token. The
/// value is APNs' time (4 bytes, big-endian).
extension FeedbackRows.Change {
    func row(identities: [String]) -> StoreChange {
        StoreChange(
            .feedback,
            key: StoreTable.key(client: identities[self.identity], self.token),
            value: self.since.map { since in withUnsafeBytes(of: since.bigEndian) { Array($0) } }
        )
    }

    /// Returns nil if the configuration does not name the client, or if the row has another form.
    init?(_ row: StoreRow, identities: [String: Int]) {
        guard let (name, token) = StoreTable.client(ofKey: row.key), let identity = identities[name],
            row.value.count == 4
        else { return nil }
        self.init(
            identity: identity,
            token: Array(token),
            since: row.value.reduce(0) { $0 << 8 | UInt32($1) }
        )
    }
}
