import Ferry
import FerryOpenSSL
import FerryTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct DoctorHostTests {
    @Test func `a gateway and credentials that fit are in order`() async throws {
        try await DoctorHarness.run { harness in
            try await harness.withGateway { port in
                let report = try await harness.doctor(
                    ["localhost:\(port)"] + harness.ca + harness.options(harness.authority.client())
                )
                #expect(report.problems.map(\.sentence) == [])
                #expect(report.status == 0)
                #expect(report.host == "localhost:\(port)")
                #expect(report.findings.contains { $0.sentence.contains("asks for a certificate and takes") })
            }
        }
    }

    @Test func `an expired server certificate is named, with the day`() async throws {
        try await DoctorHarness.run { harness in
            try await harness.withGateway(harness.authority.server(validity: .expired)) { port in
                let report = try await harness.doctor(
                    ["localhost:\(port)"] + harness.ca + harness.options(harness.authority.client())
                )
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["expired"])
                let finding = try #require(report.finding("expired"))
                #expect(finding.sentence.contains("The server's certificate expired on 20"))
                #expect(finding.cure?.contains("renew") == true)
            }
        }
    }

    @Test func `a wrong name is named, with the names that the certificate has`() async throws {
        try await DoctorHarness.run { harness in
            let server = try harness.authority.server(dnsNames: ["push.example.com"], ipAddresses: ["10.0.0.1"])
            try await harness.withGateway(server) { port in
                let arguments = try ["localhost:\(port)"] + harness.ca + harness.options(harness.authority.client())
                let report = try await harness.doctor(arguments)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["wrongName"])
                let finding = try #require(report.finding("wrongName"))
                #expect(finding.sentence.hasSuffix("not for localhost, but for push.example.com and 10.0.0.1."))
                #expect(finding.cure?.contains("--server-name") == true)
                // The cure works.
                #expect(try await harness.doctor(arguments + ["--server-name", "push.example.com"]).status == 0)
            }
        }
    }

    @Test func `a self-signed server certificate is named, and so is an unknown authority`() async throws {
        try await DoctorHarness.run { harness in
            let server = try ThrowAwayCA.selfSigned()
            let client = try harness.options(harness.authority.client())
            try await harness.withGateway(server) { port in
                let report = try await harness.doctor(["localhost:\(port)"] + harness.ca + client)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["selfSigned"])
                #expect(report.finding("selfSigned")?.cure?.contains("--ca") == true)
                let own = try harness.directory.write("server.pem", server.certificateChainPEM)
                #expect(try await harness.doctor(["localhost:\(port)", "--ca", own] + client).status == 0)
            }
            try await harness.withGateway { port in
                let report = try await harness.doctor(["localhost:\(port)"] + client)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["unknownIssuer"])
                #expect(report.finding("unknownIssuer")?.cure?.contains("name the CA that issued it with --ca") == true)
                // This happens when a directory of credentials was made anew and --ca names a copy of the old
                // authority.
                let namesake = try harness.directory.write("old-ca.pem", ThrowAwayCA().certificatePEM)
                let old = try await harness.doctor(["localhost:\(port)", "--ca", namesake] + client)
                #expect(old.problems.map(\.problem) == ["otherIssuer"])
                #expect(old.finding("otherIssuer")?.cure?.contains("made anew") == true)
            }
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `no client certificate is named, also when the handshake itself succeeds`(maximum: TLSVersion) async throws {
        try await DoctorHarness.run { harness in
            try await harness.withGateway(nil, { $0.maximumTLSVersion = maximum }) { port in
                let report = try await harness.doctor(["localhost:\(port)"] + harness.ca)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["clientCertificateMissing"])
                let finding = try #require(report.problems.first)
                #expect(finding.sentence == "No certificate was given, and the server asks for one.")
                #expect(finding.cure == "use --cert and --key, or --p12")
            }
        }
    }

    @Test func `a refused certificate is named by the server's alert`() async throws {
        try await DoctorHarness.run { harness in
            let cases = try [
                ("unknown CA", ThrowAwayCA(name: "Another authority"), "trust the authority that issued it"),
                ("decrypt error", ThrowAwayCA(), "that did not sign this certificate"),
            ]
            try await harness.withGateway(nil, { $0.maximumTLSVersion = .tls13 }) { port in
                for (alert, authority, cure) in cases {
                    let report = try await harness.doctor(
                        ["localhost:\(port)"] + harness.ca + harness.options(authority.client())
                    )
                    #expect(report.status == 3)
                    let finding = try #require(report.finding("clientCertificateRefused"))
                    #expect(finding.sentence.contains("alert \"\(alert)\""))
                    #expect(finding.cure?.contains(cure) == true)
                }
            }
        }
    }

    @Test func `a certificate of the wrong environment is named, before and after the server's refusal`() async throws {
        try await DoctorHarness.run { harness in
            let context = try TLSContext(
                server: .init(
                    identity: harness.authority.server(dnsNames: ["gateway.push.apple.com"]),
                    clientCertificates: .verified { $0.environments.contains(.production) }
                )
            )
            try await harness.withServer({ [try TLSHandler(server: context)] }) { port in
                func report(_ environments: Set<CertificateSummary.Environment>) async throws -> DoctorHarness.Report {
                    try await harness.doctor(
                        ["127.0.0.1:\(port)", "--server-name", "gateway.push.apple.com"] + harness.ca
                            + harness.options(harness.authority.client(environments: environments))
                    )
                }
                let wrong = try await report([.sandbox])
                #expect(wrong.status == 3)
                #expect(wrong.problems.map(\.problem) == ["wrongEnvironment", "clientCertificateRefused"])
                let finding = try #require(wrong.finding("wrongEnvironment"))
                #expect(finding.sentence.contains("good for sandbox only, and the host is for production"))
                #expect(finding.cure?.contains("use a certificate for production") == true)
                #expect(try await report([.production]).status == 0)
            }
        }
    }

    @Test func `a closed port is named, with the rule for firewalls`() async throws {
        try await DoctorHarness.run { harness in
            let port = try await harness.closedPort()
            let report = try await harness.doctor(["127.0.0.1:\(port)"])
            #expect(report.status == 3)
            #expect(report.problems.map(\.problem) == ["portClosed"])
            let finding = try #require(report.problems.first)
            #expect(finding.sentence.contains("127.0.0.1, port \(port), refuses connections"))
            for words in ["outbound TCP to port \(port)", "443 and 2197", "2195 and 2196", "17.0.0.0/8"] {
                #expect(finding.cure?.contains(words) == true, "\(words)")
            }
        }
    }

    @Test func `a silent port is named, after the time that was given`() async throws {
        try await DoctorHarness.run { harness in
            try await harness.withGateway(nil, { $0.script.handshake = .silent }) { port in
                let report = try await harness.doctor(["localhost:\(port)", "--timeout", "0.3"])
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["silentPort"])
                #expect(report.problems.first?.sentence.contains("says nothing for 300 ms") == true)
                #expect(report.problems.first?.cure?.contains("speaks TLS") == true)
            }
        }
    }

    @Test func `a port without TLS is named, and what it looks like`() async throws {
        let cases: [(String, Bool, String)] = [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", false, "it looks like an HTTP server (\"HTTP/1.1 400 Bad Request\")"),
            ("SSH-2.0-OpenSSH_9.2p1\r\n", true, "it looks like an SSH server"),
            ("\u{8}\u{1}\u{0}\u{0}\u{0}\u{0}", false, "a gateway of the binary protocol without TLS"),
            ("no", true, "it says \"no\""),
        ]
        try await DoctorHarness.run { harness in
            for (text, speaksFirst, words) in cases {
                let bytes = Array(text.utf8)
                try await harness.withServer({ [SpeakingHandler(bytes, speaksFirst: speaksFirst)] }) { port in
                    // The two bytes could be the start of more, so the probe waits for the whole time-out.
                    let limit = text == "no" ? "5" : "300"
                    let report = try await harness.doctor(["127.0.0.1:\(port)", "--timeout", limit])
                    #expect(report.status == 3)
                    #expect(report.problems.map(\.problem) == ["plainText"])
                    #expect(report.problems.first?.sentence.contains(words) == true, "\(words)")
                    #expect(report.problems.first?.cure?.contains("port on which the service speaks TLS") == true)
                }
            }
        }
    }

    @Test func `a server with TLS 1.0 only is named, and one that offers it, too, is warned of`() async throws {
        try await DoctorHarness.run { harness in
            let server = try harness.authority.server(key: .rsa2048)
            let client = try harness.options(harness.authority.client(key: .rsa2048))
            for (maximum, problem, severity, status) in [
                (TLSVersion.tls10, "onlyOldTLS", "fault", Int32(3)), (.tls12, "oldTLSOffered", "warning", 0),
            ] {
                let change: (inout SimulatedGateway.Configuration) -> Void = {
                    $0.acceptsLegacyTLS = true
                    $0.maximumTLSVersion = maximum
                }
                try await harness.withGateway(server, change) { port in
                    let report = try await harness.doctor(["localhost:\(port)"] + harness.ca + client)
                    #expect(report.status == status)
                    #expect(report.problems.map(\.problem) == [problem])
                    #expect(report.problems.map(\.severity) == [severity])
                    #expect(report.problems.first?.sentence.contains("TLS 1.0") == true)
                    #expect(report.problems.first?.cure?.contains("at the server") == true)
                }
            }
        }
    }

    @Test func `a connection that ends in the handshake, or right after it, is named`() async throws {
        try await DoctorHarness.run { harness in
            let context = try TLSContext(server: .init(identity: harness.authority.server()))
            try await harness.withServer({ [ClosingHandler()] }) { port in
                let report = try await harness.doctor(["127.0.0.1:\(port)"])
                #expect(report.problems.map(\.problem) == ["closedInHandshake"])
                #expect(report.status == 3)
            }
            try await harness.withServer({ [try TLSHandler(server: context)] }) { port in
                let report = try await harness.doctor(
                    ["127.0.0.1:\(port)"] + harness.ca + harness.options(harness.authority.client())
                )
                #expect(report.problems.map(\.problem) == ["clientCertificateNotAsked"])
                #expect(report.status == 0)
            }
        }
    }

    @Test func `Apple's own binary gateways are retired, and nothing is connected to`() async throws {
        try await DoctorHarness.run { harness in
            for host in ["gateway.push.apple.com:2195", "Gateway.Sandbox.push.apple.com.", "feedback.push.apple.com"] {
                let report = try await harness.doctor([host])
                #expect(report.status == 3)
                #expect(report.findings.map(\.problem) == ["serviceRetired"])
                #expect(report.findings.first?.sentence.contains("2021-03-31") == true)
                #expect(report.findings.first?.cure?.contains("over HTTP/2") == true)
            }
        }
    }
}
