# frozen_string_literal: true

require 'grocer/base'

module Grocer
  # A device that is gone, and since when.
  class FailedDeliveryAttempt
    # How many bytes a tuple has whose token has 32.
    LENGTH = 38

    attr_accessor :timestamp, :device_token

    def initialize(binary_tuple)
      seconds, length, token = binary_tuple.unpack('Nna*')
      raise InvalidFormatError unless length && token.bytesize == length
      @timestamp = Time.at(seconds)
      @device_token = token.unpack1('H*')
    end
  end
end
