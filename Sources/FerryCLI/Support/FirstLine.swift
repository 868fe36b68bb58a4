#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The first line of a file, which holds a secret.
enum FirstLine {
    /// - Throws: ``CommandFailure`` with status 2 when the file cannot be read.
    static func read(_ path: String) throws(CommandFailure) -> String {
        do {
            let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
            return text.split(omittingEmptySubsequences: false) { $0.isNewline }.first.map(String.init) ?? ""
        } catch {
            throw CommandFailure.usage("The file \(path) cannot be read: \(Sentence.of(error))")
        }
    }
}
