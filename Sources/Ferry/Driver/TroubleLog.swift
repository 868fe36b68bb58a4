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
        let words = Self.words(error)
        if let last = self.entries[error.code], now < last.at + (last.words == words ? Self.repetition : Self.pause) {
            return .debug
        }
        self.entries[error.code] = (words, now)
        return level
    }

    /// Whether the last entry of its code was this error.
    func has(_ error: ProviderError) -> Bool { self.entries[error.code]?.words == Self.words(error) }

    /// The message without numbers: it may hold a time or a number of failures, which change.
    private static func words(_ error: ProviderError) -> String {
        // A time may have a decimal point, and the next time none.
        error.message.filter { !$0.isNumber && $0 != "." }
    }
}
