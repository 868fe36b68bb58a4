internal import FerryBinary
internal import FerryCore
internal import FerryHTTP2

/// The bounds on the wait for a connection, in words for the log of the first failure. Without these words, a program
/// that waits for one outcome seems to hang.
struct Patience: Sendable {
    var binary: String?
    var http2: String?

    init(binary: BinaryOptions? = nil, http2: HTTP2Options? = nil) {
        self.binary = binary.map {
            Self.words($0.deadline, $0.connectionRetryLimit, $0.connectionRetryTime, of: "BinaryOptions")
        }
        self.http2 = http2.map {
            Self.words($0.deadline, $0.connectionRetryLimit, $0.connectionRetryTime, of: "HTTP2Options")
        }
    }

    /// - Parameter side: the protocol; nil if the provider has only one.
    func words(_ side: ProviderSide?) -> String? {
        switch side {
        case .binary: self.binary
        case .http2: self.http2
        case nil: self.http2 ?? self.binary
        }
    }

    private static func words(_ deadline: Duration?, _ limit: Int?, _ time: Duration?, of options: String) -> String {
        let bounds = [
            deadline.map { "for \(Self.seconds($0)) (deadline)" },
            limit.map { "while at most \($0) connections in a row fail (connectionRetryLimit)" },
            time.map { "while connections fail for at most \(Self.seconds($0)) (connectionRetryTime)" },
        ].compactMap(\.self)
        guard !bounds.isEmpty else {
            return
                "notifications wait for ever: set deadline, connectionRetryLimit or connectionRetryTime of \(options)"
        }
        return "notifications wait \(bounds.joined(separator: ", and ")); a smaller value of \(options) shortens that"
    }

    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return attoseconds == 0 ? "\(seconds) s" : "\(Double(seconds) + Double(attoseconds) / 1e18) s"
    }
}
