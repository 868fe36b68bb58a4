@testable import FerryTesting
import Foundation

/// The property: a script that can be read can be written, and is then read as the same script.
func fuzzGatewayScripts(_ input: inout FuzzInput) {
    guard let script = try? GatewayScript(json: input.rest) else { return }
    do {
        let text = try JSONEncoder().encode(script)
        try require(GatewayScript(json: text) == script)
    } catch {
        fatalError("\(error)")
    }
}
