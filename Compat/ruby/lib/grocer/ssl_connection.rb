# frozen_string_literal: true

require 'grocer/base'

module Grocer
  # A socket of one's own has no counterpart.
  class SSLConnection
    def initialize(*)
      raise NotImplementedError, 'Grocer::SSLConnection is not kept: use Grocer.pusher or Grocer::Connection'
    end
  end
end
