# frozen_string_literal: true

require 'ferry/status'
require 'grocer/base'

module Grocer
  # The six bytes that name a notification that was rejected.
  class ErrorResponse
    STATUS_CODE_DESCRIPTIONS = Ferry::STATUSES.merge(255 => 'None (unknown)', 256 => 'None (unknown)').freeze

    COMMAND = 8

    attr_accessor :status_code, :identifier

    def initialize(binary_tuple)
      command, @status_code, @identifier = binary_tuple.unpack('CCN')
      raise InvalidFormatError unless @identifier
      raise InvalidCommandError unless command == COMMAND
    end

    def status
      STATUS_CODE_DESCRIPTIONS[status_code]
    end
  end
end
