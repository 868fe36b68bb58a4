import FerryCore
import Testing

@testable import FerryAdmin

/// The text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/
@Suite struct MetricsTextTests {
    @Test func `a metric has its help, its kind and its series in a row`() {
        var text = MetricsText()
        text.add(.counter, "a_total", "Things.", [.init(1, [("client", "shop")]), .init(2, [("client", "bank")])])
        text.add(.gauge, "b", "A size.", 3)
        #expect(
            text.text == """
                # HELP a_total Things.
                # TYPE a_total counter
                a_total{client="shop"} 1
                a_total{client="bank"} 2
                # HELP b A size.
                # TYPE b gauge
                b 3

                """
        )
    }

    @Test func `the name of a client forges no line and no label`() {
        var text = MetricsText()
        text.add(.gauge, "a", "One\nline.", [.init(1, [("client", "x\"} 5\na 7\\")])])
        #expect(text.text == "# HELP a One\\nline.\n# TYPE a gauge\na{client=\"x\\\"} 5\\na 7\\\\\"} 1\n")
    }

    @Test func `the buckets of a histogram count everything up to their bound`() {
        var times = TimeHistogram()
        for milliseconds: Int64 in [1, 3, 3, 400_000] { times.add(nanoseconds: milliseconds * 1_000_000) }
        var text = MetricsText()
        text.add("a_seconds", "Times.", [([("upstream", "apns")], times)])
        let lines = text.text.split(separator: "\n")
        #expect(lines.contains(#"a_seconds_bucket{upstream="apns",le="0.001"} 1"#))
        #expect(lines.contains(#"a_seconds_bucket{upstream="apns",le="0.005"} 3"#))
        #expect(lines.contains(#"a_seconds_bucket{upstream="apns",le="300"} 3"#))
        #expect(lines.contains(#"a_seconds_bucket{upstream="apns",le="+Inf"} 4"#))
        #expect(lines.contains(#"a_seconds_sum{upstream="apns"} 400.007"#))
        #expect(lines.contains(#"a_seconds_count{upstream="apns"} 4"#))
    }

    @Test func `this process has a size, a start and open descriptors`() throws {
        let figures = try #require(ProcessFigures.current)
        #expect(figures.residentBytes > 1_000_000)
        #expect(figures.openDescriptors > 2)
        #expect(figures.startedAt > 1_600_000_000)
        #expect(figures.descriptorLimit >= figures.openDescriptors)
    }
}
