# frozen_string_literal: true

module Grocer
  VERSION = '0.7.1'
end
