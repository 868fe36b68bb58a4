import FerryOpenSSL
import NIOCore
import Testing

/// `openssl s_server` on a port that it chooses. It answers each line with the reversed line.
struct OpenSSLServer {
    let tool: RunningTool
    let port: Int

    init(_ identity: TLSIdentity, _ options: [String] = [], in directory: TemporaryDirectory) throws {
        let certificate = try directory.write("server.pem", identity.certificateChainPEM)
        let key = try directory.write("server.key", identity.privateKeyPEM())
        try self.init(certificate: certificate, key: key, options)
    }

    init(certificate: String, key: String, _ options: [String] = []) throws {
        tool = try RunningTool(
            ["s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-rev"] + options
        )
        var port: Int?
        try tool.wait { text in
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }) else { return false }
            port = line.split(separator: ":").last.flatMap { Int($0) }
            return port != nil
        }
        self.port = try #require(port)
    }

    /// Sends a line, and closes after the answer.
    func ask(_ context: TLSContext) throws -> Gatherer.Result {
        try Self.ask(context, port: port)
    }

    /// Sends a line, and closes after the answer.
    static func ask(
        _ context: TLSContext,
        port: Int,
        serverName: String = "localhost"
    ) throws -> Gatherer.Result {
        let (channel, result) = try Loopback.connect(
            context,
            port: port,
            serverName: serverName,
            reply: { _, channel in channel.close(promise: nil) }
        )
        channel.writeAndFlush(ByteBuffer(string: "abc\n"), promise: nil)
        return try result.wait()
    }
}
