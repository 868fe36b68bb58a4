# frozen_string_literal: true

module Grocer
  module Extensions
    # Extends a Hash.
    module DeepSymbolizeKeys
      def deep_symbolize_keys
        DeepSymbolizeKeys.copy(self)
      end

      def self.copy(hash)
        hash.each_with_object({}) do |(key, value), copy|
          copy[key.respond_to?(:to_sym) ? key.to_sym : key] = value.is_a?(Hash) ? copy(value) : value
        end
      end
    end
  end
end
