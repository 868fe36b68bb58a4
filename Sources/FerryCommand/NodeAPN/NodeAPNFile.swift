internal import FerryCore
internal import FerryOptions
internal import FerryTerminal

/// Reads the file of `--config`: a node-apn options object in JSON.
enum NodeAPNFile {
    /// The longest file in bytes. A Buffer takes about four characters for each of its bytes.
    static let longest = 1 << 20

    /// Reads the file, if one is named. Reports what each option does here, and warns if other users may read a secret in the file.
    ///
    /// - Parameters:
    ///   - use: the command that reads it.
    ///   - commandLine: see ``NodeAPNOptions/init(_:for:commandLine:)``.
    ///   - say: receives a line for each option.
    /// - Throws: ``CommandFailure`` when the file cannot be read, is longer than ``longest``, is not a JSON object,
    ///   or has a fault such as an option of a wrong type.
    static func read(
        _ path: String?,
        for use: NodeAPNOption.Use,
        commandLine: Set<String>,
        say: (String) -> Void = { Console.error($0) }
    ) throws(CommandFailure) -> NodeAPNSettings {
        guard let path else { return NodeAPNSettings() }
        let file = OptionFile("--config", path)
        let options = NodeAPNOptions(try self.object(file), for: use, commandLine: commandLine)
        if options.holdsSecret { file.warnIfOpen(holding: "a secret") { say($0.text) } }
        for remark in options.remarks { say(remark) }
        guard options.faults.isEmpty else {
            throw .usage("\(file.name): \(options.faults.joined(separator: "; "))")
        }
        return options.settings
    }

    private static func object(_ file: OptionFile) throws(CommandFailure) -> [String: OptionValue] {
        let bytes: [UInt8]
        do {
            bytes = try FileDescriptor.contents(of: file.path, limit: self.longest)
        } catch {
            let hint = FileName(file.path).shown == nil ? ". \(FileName.whyHidden)" : ""
            throw .usage("The options cannot be read: \(error)\(hint)")
        }
        guard bytes.count <= self.longest else {
            throw .usage("\(file.name) has more than 1 MiB, too much for options.")
        }
        do {
            return try OptionValue.members(of: bytes)
        } catch {
            throw .usage("\(file.name): \(error.sentence)")
        }
    }
}
