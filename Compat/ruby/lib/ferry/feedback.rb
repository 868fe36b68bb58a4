# frozen_string_literal: true

require 'ferry'

module Ferry
  # A list of devices that are gone, each as [token, time]: hexadecimal digits, and seconds of UNIX time.
  class Feedback
    include Enumerable

    # `options`: as for a provider. Each `each` reads the list that there is then.
    def initialize(options)
      @options = options
    end

    def each
      return enum_for(:each) unless block_given?
      handle = C.with_options(@options) { |*arguments| C::FEEDBACK_OPEN.call(*arguments) }
      begin
        until (tuples = read(handle)).empty?
          until tuples.empty?
            time, length = tuples.unpack('Nn')
            yield [tuples.byteslice(6, length).unpack1('H*'), time]
            tuples = tuples.byteslice(6 + length..-1)
          end
        end
      ensure
        C::FREE.call(handle)
      end
    end

    private

    # Returns whole tuples; '' at the end of the list.
    def read(handle)
      buffer = "\0" * 16_384
      Ferry.in_steps(nil) do |ms|
        length = C::FEEDBACK_READ.call(handle, buffer, buffer.bytesize, ms)
        next if [ETIME, EINTR].include?(length)
        C.check(length, length == EPEER && "The feedback list ended too early: #{C.report(handle)['lastError']}")
        buffer.byteslice(0, length)
      end
    end
  end
end
