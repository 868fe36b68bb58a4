@testable import FerryTesting
import Foundation
import FuzzSupport

/// The property: a script that can be read can be written, and is then read as the same script.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let script = try? GatewayScript(json: FuzzInput(start, count).rest) else { return 0 }
    do {
        let text = try JSONEncoder().encode(script)
        try require(GatewayScript(json: text) == script)
    } catch {
        fatalError("\(error)")
    }
    return 0
}
