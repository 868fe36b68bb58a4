/// Words of the sentences that describe a service.
package enum StatusWords {
    /// Returns a rate in words: "120 a second", or "30 a minute" if it is below 10 a second.
    package static func rate(_ rate: Double) -> String {
        rate >= 10 ? "\(Int(rate.rounded())) a second" : "\(Int((rate * 60).rounded())) a minute"
    }

    /// Returns a count with its noun: "1 client", "2 clients".
    package static func number(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// Returns a time in seconds as text: "12 ms", "1.5 s", "45 s", "12 min", "3 h", "5 d"; "–" for nil. The script of
    /// the page writes the same.
    package static func duration(_ seconds: Double?) -> String {
        guard let seconds else { return "–" }
        return switch seconds {
        case ..<1: "\(Int((seconds * 1000).rounded())) ms"
        case ..<10: "\((seconds * 10).rounded() / 10) s"
        case ..<120: "\(Int(seconds)) s"
        case ..<7200: "\(Int(seconds / 60)) min"
        case ..<172_800: "\(Int(seconds / 3600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }

    /// Returns the age of a time as text: "now", "45 s ago"; "never" for nil. If the clock was set back, the time may
    /// be in the future, and the text is "now". The script of the page writes the same.
    ///
    /// - Parameter time: UNIX seconds.
    package static func ago(_ time: Int?, now: Int) -> String {
        guard let time else { return "never" }
        return now - time < 2 ? "now" : "\(self.duration(Double(now - time))) ago"
    }

    /// Returns a sentence about notifications that wait, with a space in front; empty if no notification waits.
    package static func waiting(_ count: Int, isStored: Bool) -> String {
        switch count {
        case ...0: ""
        case 1: " One notification waits\(isStored ? " in the store" : "")."
        default: " \(count) notifications wait\(isStored ? " in the store" : "")."
        }
    }
}
