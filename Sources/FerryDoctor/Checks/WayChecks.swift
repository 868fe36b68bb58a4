internal import Ferry
internal import FerryTerminal
internal import NIOCore

/// The checks of the path to the host: its name resolves, and its port can be reached.
enum WayChecks {
    static func findings(_ facts: HostFacts) -> [Finding] {
        switch facts.addresses {
        case .failure(let fault): [self.unresolved(facts.next.host, fault, facts.limit)]
        case .success(let addresses):
            [self.resolved(facts.next.host, addresses)] + self.reached(facts) + ProxyChecks.findings(facts)
        }
    }

    /// The advice for firewalls on the path. The ports for HTTP/2 and for the binary protocol are Apple's.
    static func firewallRule(port: Int) -> String {
        "let every firewall on the way pass outbound TCP to port \(port) (APNs has 443 and 2197 for HTTP/2, and had 2195 "
            + "and 2196 for the binary protocol, all within 17.0.0.0/8)"
    }

    private static func resolved(_ host: String, _ addresses: [SocketAddress]) -> Finding {
        let list = addresses.map { "\($0.ipAddress ?? "?") (\($0.protocol == .inet6 ? "IPv6" : "IPv4"))" }
        return .ok(.address, "\(host) has \(list.listed).")
    }

    private static func unresolved(
        _ host: String,
        _ fault: Resolver.Fault,
        _ limit: Duration
    ) -> Finding {
        switch fault {
        case .refused(let reason):
            .fault(
                .address,
                .nameNotFound,
                "\(host) has no address; the system's resolver says: \(reason).",
                cure: "correct the host's name, or this machine's DNS settings (getent hosts \(host))"
            )
        case .timedOut:
            .fault(
                .address,
                .resolverSilent,
                "The system's resolver did not answer for \(host) within \(limit.inWords).",
                cure: "correct the name servers of /etc/resolv.conf, and let firewalls pass port 53 to them"
            )
        }
    }

    private static func reached(_ facts: HostFacts) -> [Finding] {
        let connected = facts.attempts.filter { $0.result == .connected }
        return facts.attempts.map { attempt in
            if facts.muteAddresses.contains(attempt.address) { return self.mute(attempt.address) }
            if attempt.result == .connected { return .ok(.port, "\(attempt.address.inWords) takes connections.") }
            if connected.isEmpty { return self.unreached(attempt, facts) }
            return self.passedOver(attempt, connected, facts)
        }
    }

    private static func unreached(_ attempt: HostFacts.Attempt, _ facts: HostFacts) -> Finding {
        let address = attempt.address.inWords
        let rule =
            facts.proxy.map { "let every firewall on the way pass outbound TCP to the proxy \($0)" }
            ?? self.firewallRule(port: facts.port)
        switch attempt.result {
        case .refused:
            return .fault(
                .port,
                .portClosed,
                "\(address) refuses connections: nothing listens there, or a firewall answers in its place.",
                cure: "start the server, or correct host and port; \(rule)"
            )
        case .connected, .timedOut:
            return .fault(
                .port,
                .portFiltered,
                "\(address) did not answer within \(facts.limit.inWords): a firewall drops the packets, or the machine is "
                    + "down.",
                cure: rule
            )
        case .failed(let reason):
            return .fault(
                .port,
                .unreachable,
                "\(address) cannot be reached: \(reason).",
                cure: "correct this machine's network or routes; \(rule)"
            )
        }
    }

    /// Returns the finding for an address without TLS, if another address speaks TLS.
    private static func mute(_ address: SocketAddress) -> Finding {
        .warning(
            .port,
            .addressFails,
            "\(address.inWords) takes connections and completes no TLS handshake, but another address does.",
            cure:
                "look for what listens there, or take the address out of the DNS: each connection that tries it first "
                + "comes late"
        )
    }

    /// Returns the finding for an address that accepts no connections, if another address accepts them. The address is
    /// harmless if the machine simply lacks its family (usually IPv6). The address is a problem if another address of
    /// its family works, if the attempt times out, or if other machines are refused, too. A name such as `localhost`
    /// often has one address more than the server uses.
    private static func passedOver(
        _ attempt: HostFacts.Attempt,
        _ connected: [HostFacts.Attempt],
        _ facts: HostFacts
    ) -> Finding {
        let address = attempt.address
        let sentence = "\(address.inWords) takes no connections, but another address does."
        let hasTwin = connected.contains { $0.address.protocol == address.protocol }
        let refusesOthers = facts.hasOtherClients && attempt.result == .refused && !attempt.address.isLoopback
        guard hasTwin || attempt.result == .timedOut || refusesOthers else { return .ok(.port, sentence) }
        return .warning(
            .port,
            .addressFails,
            sentence,
            cure:
                "start the server there, too, or take the address out of the DNS: each connection that tries it first "
                + "comes late"
        )
    }
}

extension SocketAddress {
    /// Address and port, as the start of a sentence.
    fileprivate var inWords: String {
        "\(self.ipAddress ?? "?"), port \(self.port ?? 0),"
    }

    fileprivate var isLoopback: Bool {
        self.ipAddress.map { $0 == "::1" || $0.hasPrefix("127.") } ?? false
    }
}
