internal import Ferry
internal import FerryOpenSSL
internal import FerryTerminal

/// The checks of the host's TLS and its versions.
enum HandshakeChecks {
    static func findings(_ facts: HostFacts) -> [Finding] {
        let spoken = facts.handshakes.filter { $0.report.speaksTLS }.sorted { $0.version < $1.version }
        // The server speaks TLS 1.2 with the legacy profile. So the fault is its cipher suites or its key, and not an
        // old version of TLS.
        if let legacy = facts.legacyHandshake, spoken.allSatisfy({ $0.version < .tls12 }) {
            return [self.noCommonCipher(legacy)]
        }
        guard let newest = spoken.last, let oldest = spoken.first else {
            return self.silence(facts).map { [$0] } ?? []
        }
        var findings = [self.versions(spoken)]
        if newest.version < .tls12 {
            let isAllowed = facts.profile == .legacy
            return (isAllowed ? findings : []) + [self.onlyOld(newest.version, isAllowed: isAllowed)]
        }
        if oldest.version < .tls12 { findings.append(self.old(spoken.map(\.version).filter { $0 < .tls12 })) }
        // Over HTTP/2, ferry push offers TLS 1.3 by default.
        if oldest.version == .tls13, facts.http2 == .none { findings.append(self.onlyNew) }
        // A server that refuses the client has chosen the protocol before, so its handshakes count too.
        if facts.http2 != .none, spoken.allSatisfy({ $0.report.applicationProtocol == nil }) {
            findings.append(self.noHTTP2(isNeeded: facts.http2 == .needed))
        }
        return findings
    }

    /// Returns the finding if no handshake got an answer in TLS; nil if no handshake was tried.
    private static func silence(_ facts: HostFacts) -> Finding? {
        guard let first = facts.handshakes.first?.report else { return nil }
        if !first.firstBytes.isEmpty, !first.beginsLikeTLS {
            return .fault(
                .tls,
                .plainText,
                "\(facts.endpoint) does not speak TLS: \(PlainText.description(first.firstBytes)).",
                cure: "give the port on which the service speaks TLS, or put TLS in front of it"
            )
        }
        let failures = facts.handshakes.compactMap { handshake in
            if case .failed(let error) = handshake.report.ending { error } else { nil }
        }
        if let error = failures.first {
            return .fault(
                .tls,
                .handshakeFails,
                "No TLS handshake with \(facts.endpoint) succeeds, in no version: \(ConnectionAdvice.sentence(error))",
                cure:
                    "compare TLS versions, cipher suites, groups and the server's kind of key with its settings and log"
            )
        }
        if case .timedOut = first.ending {
            return .fault(
                .tls,
                .silentPort,
                "\(facts.endpointOnItsWay) takes the connection and says nothing for \(facts.limit.inWords).",
                cure: "check that this is the port on which the service speaks TLS, that the server is not overloaded, "
                    + "and that no firewall or proxy on the way swallows what it does not know"
            )
        }
        let log =
            facts.proxy == nil
            ? "the server's log" : "the logs of the proxy, which may have closed it, and of the server"
        return .fault(
            .tls,
            .closedInHandshake,
            "\(facts.endpointOnItsWay) ends the connection in the middle of the TLS handshake, without a word.",
            cure: "look into \(log); a load balancer with nothing behind it, an address that is not on the server's "
                + "list, or a plain-text service behaves so"
        )
    }

    private static func versions(_ spoken: [HostFacts.Handshake]) -> Finding {
        let list = spoken.map { handshake in
            let report = handshake.report
            let details = [report.cipherSuite, report.applicationProtocol.map { "ALPN \($0)" }].compactMap { $0 }
            return handshake.version.inWords + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))")
        }
        return .ok(.tls, "It speaks \(list.listed).")
    }

    private static func onlyOld(_ newest: TLSVersion, isAllowed: Bool) -> Finding {
        let cure =
            "switch TLS 1.2 on at the server (with OpenSSL: MinProtocol, MaxProtocol and the ciphers of its settings)"
        return isAllowed
            ? .warning(.tls, .onlyOldTLS, "It speaks \(newest.inWords) and nothing newer.", cure: cure)
            : .fault(
                .tls,
                .onlyOldTLS,
                "It speaks \(newest.inWords) and nothing newer; Ferry speaks TLS 1.2 and 1.3.",
                cure: "\(cure); if it cannot be changed, \(ConnectionAdvice.giveLegacyProfile)"
            )
    }

    /// - Parameter report: the report of a handshake with the legacy profile.
    private static func noCommonCipher(_ report: HandshakeReport) -> Finding {
        .fault(
            .tls,
            .noCommonCipher,
            "It speaks TLS 1.2 with nothing that the system's policy (openssl.cnf) allows here"
                + (report.cipherSuite.map { "; with the legacy profile it takes \($0)." } ?? "."),
            cure:
                "allow a suite with ECDHE and AES-GCM at the server, and give it a key of RSA 2048 or P-256; if it cannot "
                + "be changed, \(ConnectionAdvice.giveLegacyProfile)"
        )
    }

    private static func old(_ versions: [TLSVersion]) -> Finding {
        .warning(
            .tls,
            .oldTLSOffered,
            "It offers \(versions.map(\.inWords).listed), too, which are no longer safe.",
            cure: "unless a client needs them that knows nothing better, switch them off at the server"
        )
    }

    private static let onlyNew = Finding.warning(
        .tls,
        .onlyTLS13,
        "It speaks TLS 1.3 only, and ferry push offers 1.2 only unless told otherwise.",
        cure: "give ferry push --tls-max 1.3, or switch TLS 1.2 on at the server"
    )

    private static func noHTTP2(isNeeded: Bool) -> Finding {
        Finding(
            check: .tls,
            severity: isNeeded ? .fault : .warning,
            problem: .noApplicationProtocol,
            sentence: "It selects no application protocol (ALPN) although h2 was offered, so it speaks no HTTP/2.",
            cure: "if a proxy or firewall on the way opens TLS, have it let APNs pass unopened; else this is not APNs: "
                + "correct host or port (the binary protocol has the ports 2195 and 2196)"
        )
    }
}
