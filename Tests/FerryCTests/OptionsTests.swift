import CFerry
import FerryTesting
import Foundation
import Testing

@Suite struct OptionsTests {
    @Test(arguments: [
        ("", "The options are not one JSON object"),
        ("[]", "The options are not one JSON object"),
        ("{}", "The option 'backend' is missing"),
        (#"{"backend":"smtp"}"#, #"The option 'backend' takes one of "binary", "http2", "migrate", "echo", "auto"."#),
        (#"{"backend":"echo","backend":"echo"}"#, "The option 'backend' stands there twice."),
        (#"{"backend":"echo","shares":1}"#, "There is no option 'shares' here; is shared meant?"),
        (#"{"backend":"echo","events":5}"#, "There is no option 'events' here."),
        (#"{"backend":"echo","queueLimit":0}"#, "The option 'queueLimit' takes a whole number, 1 to 1000000000."),
        (#"{"backend":"echo","queueLimit":1e999}"#, "The option 'queueLimit' takes a whole number"),
        (#"{"backend":"http2","production":true}"#, "HTTP/2 wants credentials"),
        (#"{"backend":"http2"}"#, "Say where to send"),
        (#"{"backend":"http2","production":true,"host":"a"}"#, "The option 'production' is for Apple's servers"),
        (#"{"backend":"http2","production":true,"p8":"/nowhere"}"#, "The option 'p8' needs 'keyId' and 'teamId'"),
        (#"{"backend":"binary"}"#, "The binary protocol needs the option 'host'"),
        (
            #"{"backend":"binary","host":"a","connectTimeout":-1}"#,
            "The option 'connectTimeout' takes seconds, 0 to 1000000."
        ),
        (#"{"backend":"migrate","binary":{}}"#, "needs the options 'binary' and 'http2'"),
        (#"{"backend":"migrate","binary":{"host":"a","topic":"b"},"http2":{"host":"a"}}"#, "HTTP/2 wants credentials"),
    ])
    func `wrong options are one sentence that names them`(options: String, sentence: String) throws {
        let refusal = try #require(Library.refusal(options))
        #expect(refusal.code == Int64(FERRY_EOPTIONS))
        #expect(refusal.message.contains(sentence))
        #expect(refusal.message.hasSuffix(".") || refusal.message.hasSuffix("meant?"))
    }

    @Test func `a message is cut to the caller's memory`() {
        var message = [CChar](repeating: 7, count: 6)
        #expect(ferry_open("{}", 2, &message, 5) == Int64(FERRY_EOPTIONS))
        #expect(Library.text(message) == "The ")
        #expect(message[5] == 7)
    }

    @Test func `a secret in a wrong place is not repeated`() {
        let refusal = Library.refusal(#"{"backend":"echo","-----BEGIN PRIVATE KEY----- MIGTAgEAMBMGByq":1}"#)
        #expect(refusal?.message.contains("MIGT") == false)
    }
}
