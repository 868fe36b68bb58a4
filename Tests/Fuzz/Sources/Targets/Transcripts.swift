@testable import FerryTesting
import Foundation

/// The property: a transcript that can be read can be written, annotated and redacted, and is then read as the same
/// transcript.
func fuzzTranscripts(_ input: inout FuzzInput) {
    guard let transcript = try? Transcript(parsing: input.rest) else { return }
    do {
        for version in [transcript, transcript.annotated(), transcript.redacted()] {
            let again = try Transcript(parsing: version.text)
            require(again.events.map(\.kind) == version.events.map(\.kind))
            require(again.events.map(\.connection) == version.events.map(\.connection))
            require(again.headers == transcript.headers)
        }
    } catch {
        fatalError("\(error)")
    }
}
