internal import Ferry
internal import FerryTerminal

/// The file of `--share-file`: one number, the share of devices over HTTP/2 in percent.
struct ShareFile: Sendable {
    /// How often the file is read.
    private static let interval: Duration = .seconds(1)

    let file: OptionFile
    /// The share at the last read that found one.
    private(set) var share: Double

    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read, or has no share.
    init(_ path: String) throws(CommandFailure) {
        self.file = OptionFile("--share-file", path)
        do {
            self.share = try Self.read(self.file)
        } catch {
            throw .usage(error.sentence)
        }
    }

    private struct Fault: Error {
        var sentence: String
    }

    private static func read(_ file: OptionFile) throws(Fault) -> Double {
        // A second opening of a pipe could wait for ever. A missing file passes here, and the read below reports it.
        guard FileIdentity(path: file.path)?.isRegular != false else {
            throw Fault(sentence: "\(file.name) is no regular file, which can be read again when it changes.")
        }
        let bytes: [UInt8]
        do {
            bytes = try file.bytes()
        } catch {
            throw Fault(sentence: error.description)
        }
        let words = String(decoding: bytes.prefix(64), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        // `Double` would also accept hexadecimal numbers and "nan".
        guard bytes.count <= 64, words.count == 1, let word = words.first,
            word.utf8.allSatisfy({ 0x30...0x39 ~= $0 || $0 == UInt8(ascii: ".") }),
            let share = Double(word), (0...100).contains(share)
        else { throw Fault(sentence: "\(file.name) holds no share: it takes a number from 0 to 100.") }
        return share
    }

    /// Reads the file repeatedly, and passes a new share to `provider`. Ends when the task is cancelled.
    mutating func follow(_ provider: MigratingProvider, say: @Sendable (String) -> Void) async {
        var last: String?
        while (try? await Task.sleep(for: Self.interval)) != nil {
            do throws(Fault) {
                let share = try Self.read(self.file)
                last = nil
                guard share != self.share else { continue }
                self.share = share
                provider.rule.share = share
                say("ferry: the share is \(share) % now")
            } catch {
                if last != error.sentence { say("ferry: \(error.sentence) The share stays \(self.share) %.") }
                last = error.sentence
            }
        }
    }
}
