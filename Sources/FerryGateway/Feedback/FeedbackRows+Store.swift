internal import FerryCore

/// A row of ``StoreTable/feedback``: under the length (1), the name of the client and the token, APNs' time (4), big-endian.
extension FeedbackRows.Change {
    func row(identities: [String]) -> StoreChange {
        StoreChange(
            .feedback,
            key: StoreTable.key(client: identities[self.identity], self.token),
            value: self.since.map { since in withUnsafeBytes(of: since.bigEndian) { Array($0) } }
        )
    }

    /// Returns nil for a row of a client that the configuration does not name, or of another form.
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
