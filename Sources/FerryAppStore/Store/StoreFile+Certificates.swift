internal import FerrySQLite

/// The certificates that the verifier found good. The next start then knows these certificates before the first post.
/// The verifier verifies them again when they are read.
extension StoreFile {
    /// The largest number of kept pairs of leaf and intermediate. Apple uses few pairs, each for two years.
    private static let certificateLimit = 16

    static func makeCertificates(_ database: SQLiteDatabase) throws(SQLiteError) {
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS certificates (
                number INTEGER PRIMARY KEY, leaf BLOB NOT NULL, intermediate BLOB NOT NULL, UNIQUE (leaf, intermediate)
            )
            """
        )
    }

    /// Returns the certificates, the newest first.
    func certificates() throws(SQLiteError) -> [SigningCertificates] {
        var list: [SigningCertificates] = []
        try self.database.prepare("SELECT leaf, intermediate FROM certificates ORDER BY number DESC").run { row in
            list.append(SigningCertificates(leaf: row.blob(0), intermediate: row.blob(1)))
        }
        return list
    }

    func keep(_ certificates: SigningCertificates) throws(SQLiteError) {
        try self.database.transaction { () throws(SQLiteError) in
            try self.database.prepare("INSERT OR REPLACE INTO certificates (leaf, intermediate) VALUES (?, ?)")
                .run([.blob(certificates.leaf), .blob(certificates.intermediate)])
            try self.database.execute(
                """
                DELETE FROM certificates WHERE number NOT IN (
                    SELECT number FROM certificates ORDER BY number DESC LIMIT \(Self.certificateLimit)
                )
                """
            )
        }
    }
}
