import FerryOpenSSL
import NIOCore

/// A client and a server engine, back to back, with a log of what each of them found.
struct EnginePair: ~Copyable {
    struct Log {
        var handshakes: [String?] = []
        var plaintext = ByteBuffer()
        var plaintextEvents = 0
        var peerClosed = 0
        var failures: [TLSError] = []
        /// Kinds of events in their order.
        var order: [String] = []

        mutating func note(_ event: TLSEngine.Event) {
            switch event {
            case .handshakeCompleted(let name):
                handshakes.append(name)
                order.append("handshake")
            case .plaintext(let buffer):
                plaintext.writeImmutableBuffer(buffer)
                plaintextEvents += 1
                order.append("plaintext")
            case .peerClosed:
                peerClosed += 1
                order.append("closed")
            case .failed(let error):
                failures.append(error)
                order.append("failed")
            }
        }
    }

    var client: TLSEngine
    var server: TLSEngine
    var clientLog = Log()
    var serverLog = Log()
    /// How many bytes are handed over at once; nil for all.
    var pieceLength: Int?

    init(client: TLSContext, server: TLSContext, host: String? = "localhost", pieceLength: Int? = nil) throws(TLSError)
    {
        let clientEngine = try TLSEngine(context: client, peer: host.map { PeerName($0) })
        let serverEngine = try TLSEngine(context: server)
        self.client = clientEngine
        self.server = serverEngine
        self.pieceLength = pieceLength
    }

    /// Carries bytes to and fro until both sides are silent.
    mutating func run() {
        while true {
            while let event = client.step() { clientLog.note(event) }
            while let event = server.step() { serverLog.note(event) }
            let up = client.takeCiphertext()
            let down = server.takeCiphertext()
            if up == nil, down == nil { return }
            for piece in pieces(up) {
                server.ingest(piece)
                while let event = server.step() { serverLog.note(event) }
            }
            for piece in pieces(down) {
                client.ingest(piece)
                while let event = client.step() { clientLog.note(event) }
            }
        }
    }

    private func pieces(_ buffer: ByteBuffer?) -> [ByteBuffer] {
        guard var buffer else { return [] }
        var pieces: [ByteBuffer] = []
        while let piece = buffer.readSlice(length: min(pieceLength ?? .max, buffer.readableBytes)),
            piece.readableBytes > 0
        { pieces.append(piece) }
        return pieces
    }
}

struct NothingProduced: Error {}

extension TLSEngine {
    /// The ciphertext that must be there.
    mutating func output() throws -> ByteBuffer {
        guard let ciphertext = takeCiphertext() else { throw NothingProduced() }
        return ciphertext
    }

    /// Whether there is nothing to report and nothing to send.
    mutating func isSilent() -> Bool {
        step() == nil && takeCiphertext() == nil
    }
}
