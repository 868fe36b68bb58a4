@testable internal import FerryCommand
@testable internal import FerryCore

private let line = Array(
    #"""
    {"token":"00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0","payload":{"aps":{"alert":"Hello","badge":1}},"ref":"order 7"}
    """#.utf8
)
private let escapedLine = Array(
    #"{"tok\u0065n":"00fc","payload":{"aps":{"alert":"\u00e4\n"}},"collapseId":"\u00e4\"","topic":"com\u002eexample"}"#
        .utf8
)

private func parse(_ line: [UInt8], _ count: Int) {
    let parser = LineParser(topic: "com.example")
    line.withUnsafeBufferPointer { line in
        for _ in 0..<count { use(try? parser.parse(line)) }
    }
}

let text: [Benchmark] = [
    Benchmark("parse a line", count: 100_000) { { parse(line, 100_000) } },
    Benchmark("parse a line with escapes", count: 100_000) { { parse(escapedLine, 100_000) } },
    Benchmark("scan a line as JSON", count: 100_000) {
        { line.withUnsafeBufferPointer { line in for _ in 0..<100_000 { use(JSONScanner.isObject(line)) } } }
    },
]
