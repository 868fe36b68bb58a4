internal import FerryCore
internal import NIOCore

/// A writer that records events to a transcript file as they happen.
///
/// Safe from any thread. Lines are written 64 KiB at a time and at every ``flush()``. A write blocks the event loop
/// that causes it. A transcript has at most ``Transcript/maximumLineCount`` lines and ``Transcript/maximumConnection``
/// connections. Later events are not recorded, and ``failure`` says so.
package final class TranscriptWriter: Sendable {
    private static let chunk = 64 * 1024
    /// The most bytes in one line. With more, a line could exceed ``Transcript/maximumLineLength``.
    private static let lineBytes = 256 * 1024

    /// The number of lines after which the transcript is full. An event becomes at most one line for each message, and
    /// a message has at least five bytes.
    private static let lineLimit = Transcript.maximumLineCount - lineBytes / 5

    private struct State: ~Copyable {
        var file: BufferedFile
        /// The number of lines so far, with those above the events.
        var count: Int
        var last: Duration = .zero
        var annotator: TranscriptAnnotator
        var redactors: [Transcript.Stream: TranscriptRedactor] = [:]
        /// The error to report once the transcript is full.
        var excess: TranscriptError?
        var failure: (any Error)? { self.excess ?? self.file.failure }
    }

    private let service: Transcript.Service
    private let key: TranscriptRedactor.Key?
    private let start = NIODeadline.now()
    private let state: Locked<State>

    /// Opens a file for writing. An existing file is emptied.
    ///
    /// - Parameter redacts: if true, tokens and payloads are replaced by others of the same length.
    /// - Throws: ``FileError``.
    package init(path: String, service: Transcript.Service, redacts: Bool) throws(FileError) {
        let opening = Transcript.opening(service: service, headers: [])
        let file = try BufferedFile(path: path, chunk: Self.chunk, opening: Array(opening.utf8))
        self.service = service
        self.key = redacts ? TranscriptRedactor.Key() : nil
        self.state = Locked(
            State(
                file: file,
                count: opening.utf8.count { $0 == UInt8(ascii: "\n") },
                annotator: TranscriptAnnotator(service)
            )
        )
    }

    deinit { self.flush() }

    /// The first error. Nothing is recorded after it.
    package var failure: (any Error)? { self.state.withLock { $0.failure } }

    /// The lines so far, with those above the events.
    var lineCount: Int { self.state.withLock { $0.count } }

    /// Records an action of a side at the current time.
    package func note(_ connection: Int, _ sender: Transcript.Side, _ kind: Transcript.Kind) {
        guard case .bytes(let bytes) = kind, bytes.count > Self.lineBytes else {
            return self.add(connection, sender, kind)
        }
        for start in stride(from: 0, to: bytes.count, by: Self.lineBytes) {
            self.add(connection, sender, .bytes(Array(bytes[start..<min(start + Self.lineBytes, bytes.count)])))
        }
    }

    private func add(_ connection: Int, _ sender: Transcript.Side, _ kind: Transcript.Kind) {
        let elapsed = Duration(NIODeadline.now() - self.start)
        self.state.withLock { state in
            guard state.failure == nil else { return }
            guard state.count < Self.lineLimit, connection <= Transcript.maximumConnection else {
                state.excess = TranscriptError(
                    line: state.count,
                    reason: "the transcript is full; nothing after this was recorded"
                )
                return
            }
            state.last = max(state.last, elapsed)
            for var event in state.annotator.annotate(
                Transcript.Event(state.last, sender, kind, connection: connection)
            ) {
                self.redact(&event, &state)
                state.file.add { $0 += Array("\(event.text)\n".utf8) }
                state.count += 1
            }
        }
    }

    /// Forgets a connection that has no more events.
    func forget(_ connection: Int) {
        self.state.withLock { state in
            state.annotator.forget(connection: connection)
            state.redactors[Transcript.Stream(connection: connection, sender: .client)] = nil
            state.redactors[Transcript.Stream(connection: connection, sender: .server)] = nil
        }
    }

    private func redact(_ event: inout Transcript.Event, _ state: inout State) {
        guard let key, case .bytes(let bytes) = event.kind else { return }
        let stream = Transcript.Stream(connection: event.connection, sender: event.sender)
        var redactor = state.redactors[stream] ?? TranscriptRedactor(self.service, sentBy: event.sender, key: key)
        event.kind = .bytes(redactor.redact(bytes))
        state.redactors[stream] = redactor
    }

    /// Writes the buffered lines.
    package func flush() { self.state.withLock { $0.file.flush() } }
}
