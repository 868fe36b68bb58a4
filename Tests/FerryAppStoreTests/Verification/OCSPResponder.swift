import FerryOpenSSL
import FerryServer
import Foundation

/// A responder of OCSP: a process of `openssl ocsp`, for one authority.
final class OCSPResponder {
    enum Status {
        case valid, revoked, unknown
    }

    /// The signer of answers.
    enum Signer {
        case issuer
        /// A certificate with OCSPSigning from the issuer.
        case delegate
        /// A certificate without OCSPSigning from the issuer.
        case wrongDelegate
        /// Another authority.
        case stranger
    }

    private let process: Process
    private let directory: String

    struct Fault: Error {
        var text: String
    }

    /// A port that was free a moment ago.
    static func freePort() async throws -> Int {
        let listener = try await Listener.bind(.init(), on: nil) { _ in nil }
        await listener.stop(within: .seconds(1))
        return listener.port
    }

    /// Starts a responder, and returns when it listens.
    ///
    /// - Parameters:
    ///   - certificate: the one that is asked about, in DER form.
    ///   - minutes: how long an answer is good; nil: it does not say.
    static func start(
        port: Int,
        authority: (certificate: [UInt8], key: [UInt8]),
        certificate: [UInt8],
        status: Status = .valid,
        signer: Signer = .issuer,
        minutes: Int? = 5
    ) async throws -> OCSPResponder {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ferry-ocsp-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(authority.certificate).write(to: URL(filePath: "\(directory)/ca.pem"))
        try Data(authority.key).write(to: URL(filePath: "\(directory)/ca.key"))
        try Data(certificate).write(to: URL(filePath: "\(directory)/certificate.der"))
        let words = ["x509", "-inform", "DER", "-in", "certificate.der", "-noout", "-serial"]
        let output = try await self.run(words, in: directory)
        let serial = output.split(separator: "=").last.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) } ?? ""
        let line =
            switch status {
            case .valid: "V\t491231235959Z\t\t\(serial)\tunknown\t/CN=x\n"
            case .revoked: "R\t491231235959Z\t240101000000Z\t\(serial)\tunknown\t/CN=x\n"
            case .unknown: ""
            }
        try Data(line.utf8).write(to: URL(filePath: "\(directory)/index.txt"))
        let names = try await self.signer(signer, in: directory)
        let responder = OCSPResponder(
            ["ocsp", "-port", "\(port)", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", names.certificate]
                + ["-rkey", names.key, "-ignore_err"] + (minutes.map { ["-nmin", "\($0)"] } ?? []),
            directory
        )
        try await responder.listen()
        return responder
    }

    private init(_ arguments: [String], _ directory: String) {
        self.process = Self.process(arguments, in: directory)
        self.directory = directory
    }

    deinit {
        self.stop()
        try? FileManager.default.removeItem(atPath: self.directory)
    }

    /// Ends the process. With SIGKILL: a child has the signal mask of the thread that started it, and Swift's threads block
    /// the others.
    func stop() {
        if self.process.isRunning { kill(self.process.processIdentifier, SIGKILL) }
    }

    private func listen() async throws {
        let (texts, continuation) = AsyncStream.makeStream(of: String.self)
        let pipe = Pipe()
        self.process.standardOutput = pipe
        self.process.standardError = pipe
        // It reads to the end, because a full pipe would stop the responder.
        pipe.fileHandleForReading.readabilityHandler = { file in
            let data = file.availableData
            if data.isEmpty { file.readabilityHandler = nil }
            continuation.yield(String(decoding: data, as: UTF8.self))
        }
        self.process.terminationHandler = { _ in continuation.finish() }
        try self.process.run()
        var output = ""
        for await text in texts {
            output += text
            if output.contains("ACCEPT") { return }
        }
        throw Fault(text: output)
    }

    private static func process(_ arguments: [String], in directory: String) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.currentDirectoryURL = URL(filePath: directory)
        process.arguments = ["openssl"] + arguments
        process.standardInput = FileHandle.nullDevice
        return process
    }

    private static func signer(
        _ signer: Signer,
        in directory: String
    ) async throws -> (certificate: String, key: String) {
        guard signer != .issuer else { return ("ca.pem", "ca.key") }
        let usage = signer == .wrongDelegate ? "serverAuth" : "OCSPSigning"
        try Data("extendedKeyUsage=\(usage)\n".utf8).write(to: URL(filePath: "\(directory)/usage.txt"))
        try await self.run(
            ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "signer.key"]
                + ["-subj", "/CN=responder", "-out", "signer.csr"],
            in: directory
        )
        let issuer =
            signer == .stranger
            ? ["-signkey", "signer.key"] : ["-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "77"]
        try await self.run(
            ["x509", "-req", "-in", "signer.csr", "-days", "2", "-extfile", "usage.txt", "-out", "signer.pem"] + issuer,
            in: directory
        )
        return ("signer.pem", "signer.key")
    }

    /// Runs the tool to its end. Its output goes through files: another process that starts at the same moment would
    /// keep a pipe open.
    @discardableResult
    private static func run(_ arguments: [String], in directory: String) async throws -> String {
        let process = self.process(arguments, in: directory)
        let (output, errors) = ("\(directory)/output.txt", "\(directory)/errors.txt")
        for path in [output, errors] { try Data().write(to: URL(filePath: path)) }
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        let (statuses, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        for await status in statuses where status == 0 { return try String(contentsOfFile: output, encoding: .utf8) }
        throw Fault(text: try String(contentsOfFile: errors, encoding: .utf8))
    }
}
