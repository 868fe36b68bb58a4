# frozen_string_literal: true

require_relative 'helper'

class ExamplesTest < FerryTest
  # Returns what an example prints, line by line.
  def run_example(name, environment, *arguments, input: '')
    environment = { 'CERT' => Simulator.certificate }.merge(environment)
    file = File.join(ROOT, "examples/#{name}.rb")
    output, errors, status = Open3.capture3(environment, RbConfig.ruby, '-w', file, *arguments, stdin_data: input)
    assert_equal ['', 0], [errors, status.exitstatus]
    output.lines.map { |line| JSON.parse(line) }
  end

  # As the original, grocer tells of no rejection.
  def test_each_rejection_that_the_original_could_tell_is_told_once_over_both_protocols
    %w[houston grocer].product(%w[http2 binary]).each do |name, backend|
      bad = tokens(9, 'bad0')
      good = tokens(600)
      file = Simulator.shared.path('tokens')
      File.write(file, "#{good.each_slice(60).zip(bad).flatten.compact.join("\n")}\n")
      environment = { 'FERRY_CONFIG' => Simulator.shared.config(backend), 'TOKENS' => file }
      told = run_example(name, environment)
      expected = name == 'grocer' ? [] : bad.map { |token| { 'token' => token, 'status' => 8 } }
      assert_equal(expected, told.sort_by { |line| line['token'] })
      assert_arrived(good)
    end
  end

  def test_feedback_comes_from_the_service_and_from_the_file
    %w[houston grocer].each do |name|
      Simulator.with(Simulator::SCRIPT) do |server|
        gone = tokens(3, '909e')
        File.write(server.path('tokens'), gone.join("\n"))
        environment = { 'FERRY_CONFIG' => server.config('http2'), 'TOKENS' => server.path('tokens') }
        assert_empty run_example(name, environment)
        devices = run_example(name, { 'FERRY_CONFIG' => server.config('binary') }, 'feedback')
        assert_equal gone + Simulator::TUPLES.map { |tuple| tuple[:token] },
                     (devices.map { |device| device['token'] }.sort_by { |token| token[0] == '9' ? 0 : 1 })
        assert_equal([1_600_000_000, 1_600_000_001], devices.last(2).map { |device| device['time'] })
        assert_empty run_example(name, { 'FERRY_CONFIG' => server.config('binary') }, 'feedback')
      end
    end
  end

  def test_the_example_of_the_module
    command = [RbConfig.ruby, '-w', File.join(ROOT, 'examples/ferry.rb'), '{"backend":"echo"}']
    output, errors, status = Open3.capture3(*command, stdin_data: "00ff\nbad0\n")
    assert_equal ["0 accepted\n1 rejected BadDeviceToken\n", '', true], [output, errors, status.success?]
  end

  def test_the_bench_prints_a_rate
    [[], ['each']].each do |mode|
      output, errors, = Open3.capture3(File.join(ROOT, 'bench'), '{"backend":"echo"}', '10000', *mode)
      assert_equal '', errors
      assert_operator JSON.parse(output)['perSecond'], :>, 0
      assert_equal 10_000, JSON.parse(output)['accepted']
    end
  end
end
