/// The next handler's demand for bytes. Behind records without data, TLS reads again for it.
enum ReadDemand {
    case none
    case asked
    /// Bytes were delivered in this burst.
    case met(asksAgain: Bool)

    /// Whether the next handler has asked for bytes, and has got none since.
    var isOpen: Bool {
        switch self {
        case .none: false
        case .asked: true
        case .met(let asksAgain): asksAgain
        }
    }

    mutating func ask() {
        if case .met = self { self = .met(asksAgain: true) } else { self = .asked }
    }

    /// Ends a burst, and returns whether it delivered bytes.
    mutating func endBurst() -> Bool {
        guard case .met(let asksAgain) = self else { return false }
        self = asksAgain ? .asked : .none
        return true
    }
}
