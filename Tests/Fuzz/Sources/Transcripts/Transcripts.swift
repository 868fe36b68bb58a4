@testable import FerryTesting
import Foundation
import FuzzSupport

/// The property: a transcript that can be read can be written, annotated and redacted, and is then read as the same
/// transcript.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let transcript = try? Transcript(parsing: FuzzInput(start, count).rest) else { return 0 }
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
    return 0
}
