# frozen_string_literal: true

# Sends a notification to each device token (hexadecimal) on standard input, and prints a line for each outcome.
#
#   ruby -I lib examples/ferry.rb '{"backend":"echo"}' < tokens

require 'ferry'

abort "usage: ruby #{$PROGRAM_NAME} OPTIONS < tokens" unless ARGV.size == 1
provider = Ferry::Provider.new(JSON.parse(ARGV[0]))

print_outcomes = lambda do
  until (outcomes = provider.read).empty?
    outcomes.each { |outcome| puts [outcome.tag, outcome.outcome, outcome.reason].compact.join(' ') }
  end
end

$stdin.each_line(chomp: true).with_index.each_slice(1000) do |lines|
  batch = lines.map { |token, tag| { tag: tag, token: token, payload: { aps: { alert: 'Hello' } } } }
  until batch.empty?
    batch.shift(provider.submit(batch))
    print_outcomes.call
    provider.wait(1) unless batch.empty? # Without room it waits, as a full socket would.
  end
end

left = provider.drain(60)
warn "#{left} have no outcome yet" if left > 0
provider.close(10)
print_outcomes.call
provider.free
