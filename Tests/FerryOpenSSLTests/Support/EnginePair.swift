import FerryOpenSSL
import NIOCore

/// A client engine and a server engine, connected directly, with a log of the events of each.
struct EnginePair: ~Copyable {
    struct Log {
        var handshakes: [String?] = []
        var plaintext = ByteBuffer()
        var plaintextEvents = 0
        var peerClosed = 0
        var failures: [TLSError] = []
        /// The kinds of events, in order.
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
    /// The number of bytes that are handed over at once. Nil: all.
    var pieceLength: Int?

    init(client: TLSContext, server: TLSContext, host: String? = "localhost", pieceLength: Int? = nil) throws(TLSError)
    {
        let clientEngine = try TLSEngine(context: client, peer: host.map { PeerName($0) })
        let serverEngine = try TLSEngine(context: server)
        self.client = clientEngine
        self.server = serverEngine
        self.pieceLength = pieceLength
    }

    /// Carries bytes in both directions until both sides are silent.
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

/// Keeps a pair alive where only copyable values are allowed.
final class Kept {
    private let pair: EnginePair

    init(_ pair: consuming EnginePair) {
        self.pair = pair
    }
}

struct NothingProduced: Error {}

extension TLSEngine {
    /// Returns the ciphertext. Throws if there is no ciphertext.
    mutating func output() throws -> ByteBuffer {
        guard let ciphertext = takeCiphertext() else { throw NothingProduced() }
        return ciphertext
    }

    /// Whether there is nothing to report and nothing to send.
    mutating func isSilent() -> Bool {
        step() == nil && takeCiphertext() == nil
    }
}
