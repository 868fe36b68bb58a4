internal import Ferry
internal import FerryTerminal

/// The checks of HTTP/2: whether the server speaks it after agreeing on it, and which credentials count.
enum HTTP2Checks {
    /// The credentials that prove the provider's identity.
    struct Credentials: Sendable {
        var hasCertificate: Bool
        var hasTokenKey: Bool
    }

    static func findings(_ facts: HostFacts, _ credentials: Credentials) -> [Finding] {
        guard let greeting = facts.greeting else { return [] }
        return [self.finding(greeting, facts.limit)] + (self.authentication(credentials).map { [$0] } ?? [])
    }

    private static func finding(_ greeting: HTTP2Greeting, _ limit: Duration) -> Finding {
        switch greeting {
        case .settings(0):
            .fault(
                .http2,
                .noStreams,
                "It speaks HTTP/2 and allows no request at all (SETTINGS).",
                cure: "wait until the server is ready, or look into its log"
            )
        case .settings(1):
            .ok(
                .http2,
                "It speaks HTTP/2 and allows 1 request at a time, as APNs does until it has accepted a provider token."
            )
        case .settings(let count) where count >= Int(Int32.max):
            .ok(.http2, "It speaks HTTP/2 and sets no limit to the requests at a time.")
        case .settings(let count):
            .ok(.http2, "It speaks HTTP/2 and allows \(count) requests at a time.")
        case .silent:
            .fault(
                .http2,
                .silentHTTP2,
                "It agrees on HTTP/2 (h2) and says nothing for \(limit.inWords).",
                cure: "look into the server's log; a load balancer with nothing behind it behaves so"
            )
        case .violation:
            .fault(
                .http2,
                .brokenHTTP2,
                "It agrees on HTTP/2 (h2) and then says something else.",
                cure: "correct host or port; if they are right, have whoever runs the server look at what is behind TLS"
            )
        case .closed(let reason):
            .fault(
                .http2,
                .closedBeforeSettings,
                "It agrees on HTTP/2 (h2) and ends the connection before its SETTINGS\(reason.map { ": \($0)" } ?? "").",
                cure: "look into the server's log: it may not know this certificate, or have blocked this address for "
                    + "connecting too often"
            )
        }
    }

    private static func authentication(_ credentials: Credentials) -> Finding? {
        switch (credentials.hasCertificate, credentials.hasTokenKey) {
        case (true, true):
            .ok(.authentication, "Where the certificate is shown, APNs does not look at provider tokens.")
        case (true, false): .ok(.authentication, "The certificate speaks for you; no provider token is needed.")
        case (false, true): .ok(.authentication, "Provider tokens are to speak for you; only APNs knows if they do.")
        case (false, false): nil
        }
    }
}
