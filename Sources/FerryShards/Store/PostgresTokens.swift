package import FerryCore
internal import FerryPostgres

/// The exchange of provider tokens between the processes of a database, on a session that is made when it is needed.
package final class PostgresTokens: SharedTokens {
    private static let limit: Duration = .seconds(3)

    private let settings: PostgresSettings
    private let session = Locked<PostgresSession?>(nil)

    /// - Parameters:
    ///   - connection: a connection string of libpq.
    ///   - node: the name of this process.
    package init(connection: String, node: String) {
        self.settings = PostgresSettings(connection, name: "ferry \(node) tokens", parameters: PostgresSettings.finding)
    }

    package func exchange(_ offer: TokenOffer, then: @escaping @Sendable (SharedToken?) -> Void) {
        let session = self.session.withLock { present in
            let session = present ?? PostgresSession(self.settings)
            present = session
            return session
        }
        let key = [PostgresValue.text(offer.teamID), .text(offer.keyID)]
        let rest = [.text(offer.token), .integer(Int64(offer.issuedAt)), offer.worn.map(PostgresValue.text) ?? .null]
        // If PostgreSQL refuses the offer, the next statement still reads the present token.
        session.send(PostgresStatement(ShardSQL.offerToken, key + rest), within: Self.limit) { _ in }
        session.send(PostgresStatement(ShardSQL.token, key), within: Self.limit) { answer in
            switch answer {
            case .success(let rows):
                guard let token = rows.text(0, 0), let age = rows.integer(0, 1) else { return then(nil) }
                then(SharedToken(token: token, age: .milliseconds(age)))
            case .failure(let error):
                if error.kind != .refused { self.forget(session) }
                then(nil)
            }
        }
    }

    /// Closes a session that failed. The next exchange makes a new one.
    private func forget(_ old: PostgresSession) {
        self.session.withLock { if $0 === old { $0 = nil } }
        old.close()
    }
}
