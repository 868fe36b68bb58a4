import FerryCore
import Foundation
import Testing

@Suite struct FileNameTests {
    @Test(
        arguments: [
            "key.pem", "tls/client-key.pem", "AuthKey_ABCDE12345.p8", "../push.P12", "~/secret.txt",
            "/nowhere/at/all/ca.crt",
            "lines.jsonl", "schlüssel.pem",
            // The directory of these names exists.
            "/tmp/anything at all", "./hunter2",
            "/tmp", ".",
        ]
    )
    func `a name of a file is shown`(path: String) {
        #expect(FileName(path).shown == path)
    }

    @Test(
        arguments: [
            "", "hunter2", "correct horse battery staple", "/hunter2", "//hunter2", "s3cr3t/with/slashes", ".pem",
            "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgV5wk", "AwEHBG0waw/IBAQQgV5wk+4Vq5nZ=",
            "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n",
            #"{"key":"key.pem","passphrase":"hunter2","cert":"cert.pem"}"#, #"{"passphrase":"hunter2"}.json"#,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJURUFNIn0.c2lnbmF0dXJl", "pass word.txt", "hunter2\u{1b}[2J.pem",
            "/etc/passwd/hunter2",
            String(repeating: "a", count: 5000), "hunter2.",
        ]
    )
    func `what may be a secret is not shown`(text: String) {
        let name = FileName(text)
        #expect(name.shown == nil)
        for sentence in [name.sentence("does not exist"), name.sentence("does not exist", option: "--key")] {
            #expect(text.isEmpty || !sentence.contains(text))
        }
    }

    @Test func `what is there is shown, whatever it is called, and does nothing to a terminal`() throws {
        let directory = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.path + "/hunter2\u{1b}[2J"
        try Data().write(to: URL(filePath: path))
        #expect(FileName(path).shown == directory.path + "/hunter2\\u{1B}[2J")
    }

    @Test func `a sentence names the file, or the option that it was given to`() {
        #expect(FileName("key.pem").sentence("does not exist") == "The file key.pem does not exist.")
        #expect(
            FileName("hunter2").sentence("does not exist", option: "--key")
                == "The file of --key does not exist. What was given is not shown: it may be a secret, and the name of a "
                + "file belongs there."
        )
        #expect(FileName("hunter2").sentence("is empty").hasPrefix("The file that was named is empty. "))
        #expect(FileName("hunter2").words(option: "--key") == "the file of --key")
    }
}
