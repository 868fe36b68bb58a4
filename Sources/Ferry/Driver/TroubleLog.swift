internal import FerryCore
internal import Logging
internal import NIOCore

/// The log level of trouble: high for news, and `debug` for repetitions, so that a peer that fails all the time does not
/// fill the log.
struct TroubleLog {
    /// For this long after an entry, trouble with the same code counts as a repetition.
    static let pause: TimeAmount = .seconds(1)
    /// For this long after an entry, the same trouble counts as a repetition.
    static let repetition: TimeAmount = .seconds(60)

    /// The last entry of each code. There are few codes.
    private var entries: [ProviderError.Code: (words: String, at: NIODeadline)] = [:]

    /// Returns `level` for news, and notes it.
    mutating func level(_ level: Logger.Level, _ error: ProviderError, now: NIODeadline) -> Logger.Level {
        // A message may hold a time or a number of failures, which change.
        let words = error.message.filter { !$0.isNumber }
        if let last = self.entries[error.code], now < last.at + (last.words == words ? Self.repetition : Self.pause) {
            return .debug
        }
        self.entries[error.code] = (words, now)
        return level
    }
}
