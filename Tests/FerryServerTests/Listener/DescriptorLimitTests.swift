internal import FerryServer
internal import Testing

@Suite struct DescriptorLimitTests {
    @Test func `connections leave some descriptors to the process`() {
        let limit = DescriptorLimit(descriptors: 1024)
        #expect(limit.connections(10) == 10)
        #expect(limit.connections(16_384) == 1024 - DescriptorLimit.reserve)
    }

    @Test func `there is always one connection`() {
        #expect(DescriptorLimit(descriptors: 3).connections(100) == 1)
        #expect(DescriptorLimit(descriptors: 1024).connections(0) == 1)
    }

    @Test func `without a limit there is none`() {
        #expect(DescriptorLimit(descriptors: .max).connections(1_000_000) == 1_000_000)
    }

    @Test func `the system tells its limit`() {
        #expect(DescriptorLimit.current.descriptors > 2)
    }
}
