internal import FerryProxy
internal import FerryTerminal

/// The check of the proxy on the way to a host.
enum ProxyChecks {
    static func findings(_ facts: HostFacts) -> [Finding] {
        guard let proxy = facts.proxy, let tunnel = facts.tunnel else { return [] }
        switch tunnel {
        case .open: return [.ok(.proxy, "The proxy \(proxy) opens a tunnel to \(facts.endpoint).")]
        case .silent:
            return [
                .fault(
                    .proxy,
                    .proxySilent,
                    "The proxy \(proxy) takes the connection and does not answer within \(facts.limit.inWords).",
                    cure: "check that this is the port of an HTTP proxy, and look into its log: it may wait for "
                        + "\(facts.endpoint) in vain"
                )
            ]
        case .refused(let error): return [self.refusal(error, facts)]
        }
    }

    private static func refusal(_ error: ProxyError, _ facts: HostFacts) -> Finding {
        let problem: Problem
        let cure: String
        switch error.fault {
        case .refused:
            problem = .proxyRefuses
            cure =
                "allow CONNECT to \(facts.endpoint) at the proxy; with status 502, 503 or 504, it does not reach the host"
        case .wantsPassword:
            problem = .proxyWantsPassword
            cure =
                "give --proxy-user and --proxy-password-file; in a gateway's file, 'proxyUser' and 'proxyPasswordFile'"
        case .refusesPassword:
            problem = .proxyRefusesPassword
            cure = "correct the user name, or the first line of the password's file"
        case .closed, .lost:
            problem = .proxyCloses
            cure = "look into the proxy's log: it may not take connections from this machine, or have failed"
        case .notHTTP, .answerTooLong:
            problem = .noProxy
            cure = "correct host and port of the proxy; a proxy of SOCKS is of another kind"
        }
        return .fault(.proxy, problem, error.description, cure: cure)
    }
}
