import Ferry
import FerryOpenSSL
import FerryTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DoctorCredentialTests {
    @Test func `certificate and key that fit are in order, and their topics are told`() async throws {
        try await DoctorHarness.run { harness in
            let topics = [CertificateSummary.Topic(name: "com.example.app.voip", kinds: ["voip"])]
            let report = try await harness.doctor(harness.options(harness.authority.client(topics: topics)))
            #expect(report.problems.map(\.sentence) == [])
            #expect(report.status == 0)
            #expect(report.host == nil)
            #expect(report.findings.contains { $0.sentence == "It may send to com.example.app.voip (voip)." })
        }
    }

    @Test func `an expired certificate is named, with the day, and one not valid yet`() async throws {
        try await DoctorHarness.run { harness in
            let expired = try await harness.doctor(harness.options(harness.authority.client(validity: .expired)))
            #expect(expired.status == 1)
            #expect(expired.problems.map(\.problem) == ["expired"])
            #expect(expired.problems.first?.sentence.contains("expired on 20") == true)
            #expect(expired.problems.first?.cure?.contains("make a new one") == true)
            let future = try await harness.doctor(harness.options(harness.authority.client(validity: .future)))
            #expect(future.status == 1)
            #expect(future.problems.map(\.problem) == ["notYetValid"])
            #expect(future.problems.first?.cure?.contains("clock") == true)
        }
    }

    @Test func `a key of another certificate is named, with both files`() async throws {
        try await DoctorHarness.run { harness in
            let options = try harness.options(harness.authority.client(), key: harness.authority.client())
            let report = try await harness.doctor(options)
            #expect(report.status == 1)
            #expect(report.problems.map(\.problem) == ["keyMismatch"])
            let finding = try #require(report.problems.first)
            #expect(finding.sentence.contains(options[1]) && finding.sentence.contains(options[3]))
            #expect(finding.cure?.contains("the key that the certificate's request was made with") == true)
            // The contents of the certificate are reported nevertheless.
            #expect(report.findings.contains { $0.check == "topics" })
        }
    }

    @Test func `an old PKCS#12 archive works, and says how to convert it`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.client()
            let archive = try harness.secret("old.p12", identity.pkcs12(passphrase: "secret", encryption: .legacy))
            let right = try harness.secret("right.txt", "secret\n".utf8)
            try await harness.withGateway { port in
                let report = try await harness.doctor(
                    ["localhost:\(port)", "--p12", archive, "--passphrase-file", right] + harness.ca
                )
                #expect(report.status == 0)
                #expect(report.problems.map(\.problem) == ["oldArchive"])
                #expect(report.problems.first?.sentence.contains("RC2-40") == true)
                let cure = try #require(report.problems.first?.cure)
                #expect(cure.contains("openssl pkcs12 -legacy -nodes -in \(archive) -out push.pem"))
            }
        }
    }

    @Test func `two keys in one file are named`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.client()
            let certificate = try harness.directory.write("client.pem", identity.certificateChainPEM)
            let two = try harness.secret(
                "two.pem",
                identity.privateKeyPEM() + harness.authority.client().privateKeyPEM()
            )
            let report = try await harness.doctor(["--cert", certificate, "--key", two])
            #expect(report.status == 1)
            #expect(report.problems.map(\.problem) == ["severalKeys"])
            #expect(report.problems.first?.sentence.contains("2. prime256v1") == true)
        }
    }

    @Test func `a wrong passphrase is named, a missing one, too, and neither is printed`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.client()
            let archive = try harness.secret("client.p12", identity.pkcs12(passphrase: "the right one"))
            let key = try harness.secret("client.key", identity.privateKeyPEM(passphrase: "the right one"))
            let certificate = try harness.directory.write("client.pem", identity.certificateChainPEM)
            let wrong = try harness.secret("wrong.txt", "a wrong one\n".utf8)
            for files in [["--p12", archive], ["--cert", certificate, "--key", key]] {
                let report = try await harness.doctor(files + ["--passphrase-file", wrong])
                #expect(report.status == 1)
                #expect(report.problems.map(\.problem) == ["wrongPassphrase"])
                #expect(report.problems.first?.cure?.contains("--passphrase-file") == true)
                #expect(!report.findings.contains { "\($0)".contains("a wrong one") })
                let none = try await harness.doctor(files)
                #expect(none.status == 1)
                #expect(none.problems.map(\.problem) == ["passphraseMissing"])
                #expect(none.problems.first?.cure == "give its passphrase with --passphrase-file")
            }
        }
    }

    @Test func `credentials that cannot be used explain why the server refuses`() async throws {
        try await DoctorHarness.run { harness in
            let options = try harness.options(harness.authority.client(), key: harness.authority.client())
            try await harness.withGateway { port in
                let report = try await harness.doctor(["localhost:\(port)"] + harness.ca + options)
                #expect(report.status == 3)
                #expect(report.problems.map(\.problem) == ["keyMismatch", "clientCertificateMissing"])
                #expect(report.problems.last?.sentence.contains("cannot be shown") == true)
            }
        }
    }

    @Test func `a file that is something else is recognised, and its option named`() async throws {
        try await DoctorHarness.run { harness in
            let identity = try harness.authority.client()
            let archive = try harness.secret("client.p12", identity.pkcs12(passphrase: "secret"))
            let key = try harness.secret("client.key", identity.privateKeyPEM())
            let text = try harness.directory.write("text", "hello")
            let cases: [([String], String)] = [
                (["--cert", archive], "give it as --p12"), (["--cert", key], "as --p8"), (["--p12", key], "--key"),
                (["--p8", archive], "give it as --p12"), (["--p12", text], "name the right file"),
            ]
            for (arguments, words) in cases {
                let report = try await harness.doctor(arguments)
                #expect(report.status == 1)
                #expect(report.problems.map(\.problem) == ["wrongKindOfFile"])
                #expect(report.problems.first?.cure?.contains(words) == true, "\(arguments)")
            }
        }
    }

    @Test func `a missing file is status 2, and a key that others may read is warned of`() async throws {
        try await DoctorHarness.run { harness in
            let none = harness.directory.path("none.pem")
            for option in ["--cert", "--p12", "--p8"] {
                let report = try await harness.doctor([option, none])
                #expect(report.status == 2)
                #expect(report.problems.map(\.problem) == ["fileMissing"])
                #expect(report.problems.first?.cure == "correct the path behind \(option)")
            }
            let directory = try await harness.doctor(["--cert", harness.directory.path("")])
            #expect(directory.status == 2)
            #expect(directory.problems.map(\.problem) == ["fileUnreadable"])

            let options = try harness.options(harness.authority.client())
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: options[3])
            let open = try await harness.doctor(options)
            #expect(open.status == 0)
            #expect(open.problems.map(\.problem) == ["permissionsOpen"])
            #expect(open.problems.first?.cure == "chmod o= \(options[3])")
            let passphrase = try harness.directory.write("passphrase.txt", "secret\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: options[3])
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: passphrase)
            let told = try await harness.doctor(options + ["--passphrase-file", passphrase])
            #expect(told.problems.map(\.cure) == ["chmod o= \(passphrase)"])
            // The group may read the file. So only what is too much is taken away.
            for (mode, cure) in [(0o660, "g-w"), (0o666, "g-w,o="), (0o642, "o=")] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: passphrase)
                let told = try await harness.doctor(options + ["--passphrase-file", passphrase])
                #expect(told.problems.map(\.cure) == ["chmod \(cure) \(passphrase)"])
            }
        }
    }

    @Test func `environment and authority are judged for the host they are for`() async throws {
        try await DoctorHarness.run { harness in
            let sandbox = try harness.options(harness.authority.client(environments: [.sandbox]))
            let wrong = try await harness.doctor(sandbox + ["--environment", "production"])
            #expect(wrong.status == 1)
            #expect(wrong.problems.map(\.problem) == ["wrongEnvironment"])
            #expect(try await harness.doctor(sandbox + ["--environment", "sandbox"]).status == 0)

            let own = try harness.options(ThrowAwayCA.selfSigned())
            let pinned = try await harness.doctor(own)
            #expect(pinned.status == 0)
            #expect(pinned.problems.map(\.problem) == ["selfSigned", "noTopic"])
            #expect(pinned.finding("selfSigned")?.cure?.contains("by its fingerprint, SHA-256 ") == true)
            // The host is retired, so the command does not connect to it.
            let apple = try await harness.doctor(["gateway.push.apple.com"] + own)
            #expect(apple.problems.map(\.problem) == ["selfSigned", "noTopic", "notFromApple", "serviceRetired"])
            #expect(apple.finding("selfSigned")?.severity == "fault")
        }
    }

    @Test func `a weak key is named`() async throws {
        try await DoctorHarness.run { harness in
            let report = try await harness.doctor(harness.options(harness.authority.client(key: .rsa1024)))
            #expect(report.status == 1)
            #expect(report.problems.map(\.problem) == ["weakKey"])
        }
    }

    @Test func `a key of provider tokens is tried, and its identifiers are looked at`() async throws {
        try await DoctorHarness.run { harness in
            let key = try ES256Key.generate().p8()
            let path = try harness.secret("AuthKey_ABCDE12345.p8", key)
            let good = try await harness.doctor(
                ["--p8", path, "--key-id", "ABCDE12345", "--team-id", "FGHIJ67890"]
            )
            #expect(good.problems.map(\.sentence) == [])
            #expect(good.findings.contains { $0.sentence.contains("signed and verified") })
            let bad = try await harness.doctor(["--p8", path, "--key-id", "FGHIJ67890", "--team-id", "com.example"])
            #expect(bad.status == 1)
            #expect(bad.problems.map(\.problem) == ["malformedID", "otherKeyID"])
            #expect(bad.finding("otherKeyID")?.cure?.contains("--key-id ABCDE12345") == true)

            let small = try await harness.doctor(["--p8", path, "--team-id", "fghij67890"])
            #expect(small.problems.map(\.problem) == ["malformedID"])

            let rsa = try harness.secret("rsa.p8", harness.authority.client(key: .rsa2048).privateKeyPEM())
            #expect(try await harness.doctor(["--p8", rsa]).problems.map(\.problem) == ["notP256"])
            let encrypted = try harness.secret(
                "encrypted.p8",
                harness.authority.client().privateKeyPEM(passphrase: "secret")
            )
            #expect(try await harness.doctor(["--p8", encrypted]).problems.map(\.problem) == ["passphraseMissing"])
            var damaged = key
            damaged[key.count / 2] = UInt8(ascii: "!")
            let broken = try harness.secret("damaged.p8", damaged)
            #expect(try await harness.doctor(["--p8", broken]).problems.map(\.problem) == ["damaged"])
        }
    }

    @Test func `bad usage is status 2, one sentence, and no result`() async throws {
        try await DoctorHarness.run { harness in
            let none = harness.directory.path("none")
            let cases: [([String], String)] = [
                ([], "Say what to look at"),
                (["--key-id", "A"], "--p8"),
                (["--cert", none, "--p12", none], "exclude"),
                (["--cert", none, "--ca", none], "need HOST:PORT"),
                (["localhost:1", "--timeout", "0"], "--timeout"),
                (["localhost:1", "--timeout", "nan"], "--timeout takes seconds"),
                (["localhost:1", "--ca", none], "does not exist"),
                (["--p12", none, "--passphrase-file", none], "does not exist"),
            ]
            for (arguments, words) in cases {
                let output = try await FerryProgram.run(["doctor"] + arguments, in: harness.directory)
                #expect(output.status == 2, "\(words)")
                #expect(output.messages.contains(words), "\(words): \(output.messages)")
                #expect(output.result == "")
            }
        }
    }

    @Test func `a node-apn options object is looked at, files and text`() async throws {
        try await DoctorHarness.run { harness in
            let client = try harness.authority.client()
            let options = try harness.options(client)
            let archive = try harness.secret("push.p12", client.pkcs12(passphrase: "geheim"))
            let text = String(decoding: client.certificateChainPEM, as: UTF8.self)
            let key = String(decoding: try client.privateKeyPEM(), as: UTF8.self)
            let other = String(decoding: try harness.authority.client().privateKeyPEM(), as: UTF8.self)
            let cases: [([String: Any], [String], Int32)] = [
                (["cert": options[1], "key": options[3]], [], 0),
                (["cert": text, "key": key], [], 0),
                (["pfx": archive, "passphrase": "geheim"], [], 0),
                (["pfx": archive, "passphrase": "wrong"], ["wrongPassphrase"], 1),
                (["cert": text, "key": other], ["keyMismatch"], 1),
                (["cert": options[1], "key": "/none/geheim.key"], ["fileMissing"], 2),
                (["cert": options[1], "key": options[3], "production": true], ["serviceRetired"], 3),
            ]
            for (object, problems, status) in cases {
                let config = try harness.directory.write("c.json", JSONSerialization.data(withJSONObject: object))
                let output = try await FerryProgram.run(
                    ["doctor", "--json", "--config", config],
                    in: harness.directory
                )
                let report = try JSONDecoder().decode(DoctorHarness.Report.self, from: Data(output.result.utf8))
                let found = report.findings.filter { $0.severity == "fault" }.compactMap(\.problem)
                #expect(problems.allSatisfy(found.contains), "\(object): \(found)")
                #expect(output.status == status, "\(object): \(output.result)")
                #expect(!(output.result + output.messages).contains("PRIVATE KEY"))
            }
        }
    }

    @Test func `the server of an options object is looked at, unless the command line names one`() async throws {
        try await DoctorHarness.run { harness in
            let options = try harness.options(harness.authority.client())
            try await harness.withGateway { port in
                let object: [String: Any] = [
                    "cert": options[1], "key": options[3], "ca": harness.directory.path("ca.pem"),
                    "address": "localhost", "port": port,
                ]
                let config = try harness.directory.write("c.json", JSONSerialization.data(withJSONObject: object))
                let good = try await FerryProgram.run(["doctor", "--config", config], in: harness.directory)
                #expect(good.status == 0, "\(good.result)")
                #expect(good.result.contains("The server asks for a certificate and takes the one that it was shown"))
                let closed = try await harness.closedPort()
                let other = try await FerryProgram.run(
                    ["doctor", "localhost:\(closed)", "--config", config],
                    in: harness.directory
                )
                #expect(other.status == 3)
                #expect(other.messages.contains("port \(port): not used, HOST:PORT of the command line counts"))
            }
        }
    }

    @Test func `names in a certificate can do nothing to a terminal, nor pass for a finding`() async throws {
        try await DoctorHarness.run { harness in
            let name = "com.example\u{1b}[2J\u{9b}31m\nok       all is well\u{202e}"
            let options = try harness.options(harness.authority.client(topic: name))
            let output = try await FerryProgram.run(["doctor"] + options, in: harness.directory)
            #expect(output.result.contains(#"com.example\u{1B}[2J\u{9B}31m\u{A}ok       all is well\u{202E}"#))
            #expect(!output.result.split(separator: "\n").contains { $0.hasPrefix("ok       all is well") })
            let scalars = output.result.unicodeScalars
            #expect(scalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
        }
    }
}
