#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The file of `--config`: a node-apn options object in JSON.
enum NodeAPNFile {
    /// Buffers take about four bytes for each of theirs.
    static let longest = 1 << 20

    /// Reads the file, and says what its options become.
    ///
    /// - Parameters:
    ///   - commandLine: see ``NodeAPNOptions/init(_:commandLine:)``.
    ///   - say: gets a line for each option.
    /// - Throws: ``CommandFailure`` when the file cannot be read, is no JSON object, or has an option of a wrong type.
    static func read(
        _ path: String,
        commandLine: Set<String>,
        say: (String) -> Void = { Console.error($0) }
    ) throws(CommandFailure) -> NodeAPNSettings {
        let options = NodeAPNOptions(try self.object(path), commandLine: commandLine)
        for remark in options.remarks { say(remark) }
        guard options.faults.isEmpty else {
            throw .usage("\(path): \(options.faults.joined(separator: "; "))")
        }
        return options.settings
    }

    private static func object(_ path: String) throws(CommandFailure) -> [String: NodeAPNValue] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: path, limit: self.longest + 1)
        } catch {
            throw .usage("The options cannot be read: \(error)")
        }
        guard bytes.count <= self.longest else { throw .usage("\(path) has more than 1 MiB, too much for options.") }
        // What the decoder says may quote the file, and the file may have a passphrase.
        guard let value = try? JSONDecoder().decode(NodeAPNValue.self, from: Data(bytes)),
            case .object(let object) = value
        else { throw .usage("\(path) is not one JSON object, such as {\"cert\": \"cert.pem\", \"production\": true}.") }
        return object
    }
}
