internal import FerryGateway
internal import FerryTerminal

/// The results of a command that changes letters.
struct LetterChanges {
    /// The number of letters by result.
    private(set) var results: [LetterResult: Int] = [:]
    /// The number of letters that were changed and may have arrived before.
    private(set) var doubtful = 0
    /// The failure after which the command asked no more; nil if all letters have a result.
    var failure: (any Error)?

    mutating func note(_ result: LetterResult, mayHaveArrived: Bool) {
        self.results[result, default: 0] += 1
        if result == .done, mayHaveArrived { self.doubtful += 1 }
    }

    /// The number of letters that were changed, and the reasons why other letters were not.
    var summary: String {
        let words: [(LetterResult, String)] = [
            (.missing, "not there any more"), (.expired, "expired, and kept"),
            (.unknownClient, "of clients that the configuration does not name, and kept"),
            (.noRoom, "kept, because too much waits or the store is in trouble"),
        ]
        let others = words.compactMap { result, text in self.results[result].map { "; \($0) \(text)" } }
        return "\(self.results[.done, default: 0])\(others.joined())"
    }

    /// Throws the failure, after a line that says that the sums are not whole.
    func reportFailure() throws {
        guard let failure else { return }
        try Console.print("The rest is not known: the command ended early. The letters that remain stand in the list.")
        throw failure
    }
}
