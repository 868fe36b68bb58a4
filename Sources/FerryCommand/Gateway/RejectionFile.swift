internal import FerryCore
internal import FerryGateway

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The list of rejections: one JSON line for each, appended to a file that only its owner may read.
final class RejectionFile: Sendable {
    private let descriptor: Int32
    /// The names of the clients, as JSON strings.
    private let clients: [String]

    /// - Throws: ``CommandFailure`` when the file cannot be written.
    init(path: String, clients: [String]) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        self.descriptor = descriptor
        self.clients = try clients.map { String(decoding: try JSONFragment(encoding: $0).bytes, as: UTF8.self) }
    }

    deinit { close(self.descriptor) }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        GatewayOutput.failure("'rejections'", path, code)
    }

    /// The time of a line, in UNIX seconds.
    private static var now: Int { Int(Date.now.timeIntervalSince1970) }

    func append(_ event: GatewayEvent) {
        let line: String
        switch event {
        case .refused(let refusal): line = self.line("rejected", refusal)
        case .deadLetter(let refusal): line = self.line("deadLetter", refusal)
        case .gone(let identity, let topic, let token, let since):
            line =
                #"{"event":"gone","client":\#(self.clients[identity]),"topic":"\#(topic)","token":"\#(token.hexadecimal)","#
                + #""time":\#(since),"at":\#(Self.now)}"#
        case .alarm, .allClear, .outage, .outageOver, .storeTrouble, .storeAllClear, .storeTaken, .stranger: return
        }
        // One call for a line, so that lines do not mix. A full disk must not stop the gateway: error responses and the
        // feedback list go on.
        let bytes = Array("\(line)\n".utf8)
        _ = write(self.descriptor, bytes, bytes.count)
    }

    private func line(_ event: String, _ refusal: GatewayEvent.Refusal) -> String {
        let token = refusal.token.map { #""\#($0.hexadecimal)""# } ?? "null"
        let status = refusal.status.map { "\($0.rawValue)" } ?? "null"
        let apnsID = refusal.apnsID.map { #""\#($0)""# } ?? "null"
        return
            #"{"event":"\#(event)","client":\#(self.clients[refusal.identity]),"token":\#(token),"#
            + #""reason":"\#(refusal.reason.rawValue)","status":\#(status),"apnsId":\#(apnsID),"#
            + #""at":\#(Self.now)}"#
    }
}
