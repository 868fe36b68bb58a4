# frozen_string_literal: true

# Runs all tests, and prints `N passed, N failed` at the end. An argument chooses tests by a part of their name.
require_relative 'helper'
Dir[File.join(__dir__, '*_test.rb')].sort.each { |file| require file }

# Counts, and prints the failures.
class Report < Minitest::AbstractReporter
  def initialize
    super()
    @passed = 0
    @failures = []
  end

  def record(result)
    if result.passed?
      @passed += 1
    elsif !result.skipped?
      @failures << result
      puts result
    end
  end

  def passed?
    @failures.empty?
  end

  def sum_up
    puts "#{@passed} passed, #{@failures.size} failed"
  end
end

report = Report.new
# Minitest 5.20 and later ask for it.
Minitest.seed ||= 1 if Minitest.respond_to?(:seed)
begin
  Minitest::Runnable.runnables.each { |suite| suite.run(report, filter: ARGV[0] ? /#{ARGV[0]}/ : /./) }
ensure
  Simulator.clean_up
end
report.sum_up
$stdout.flush
exit!(report.passed? ? 0 : 1)
