internal import FerryPostgres
internal import FerryTerminal

extension CommandFailure {
    /// - Parameter option: the option that names the database, for a command with several addresses.
    init(_ error: PostgresError, of option: String? = nil) {
        let option = option.map { "'\($0)': " } ?? ""
        self.init(error.kind == .ended ? .noConnection : .badUsage, option + error.description)
    }
}
