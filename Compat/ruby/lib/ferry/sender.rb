# frozen_string_literal: true

require 'ferry/line'
require 'digest'
require 'tempfile'

module Ferry
  # What the drop-ins send with: the lines of this process to one server with one certificate. A sender stays when the program
  # drops its clients, so that the next one finds its connections open.
  class Sender
    # How many seconds the end of the process waits for outcomes.
    AT_EXIT = 10
    # After so many seconds without a push the lines are freed: a program may serve many apps.
    IDLE = 600

    @senders = {}

    class << self
      # Returns the sender for these options and this certificate: PEM text, or nil.
      def for(library, options, certificate, listener)
        @senders.values.each { |sender| @senders.delete(sender.key) if sender.abandoned? }
        key = [library, options, certificate]
        @senders[key] ||= new(key, listener)
      end

      # Notes a sender that has lines.
      def add(sender)
        @senders[sender.key] = sender
        # The hook below came too early where a server or a test runs in at_exit.
        @has_exit_hook ||= at_exit { finish } && true
      end

      # The options of ferry_open for a server. FERRY_CONFIG names a file whose options win.
      def options(host, port, others)
        server = host ? { backend: 'auto', host: host, port: port } : {}
        server.merge(others).merge(config: ENV['FERRY_CONFIG']).reject { |_, value| value.nil? || value == '' }
      end

      # Returns a token in hexadecimal, as the old libraries packed it, whatever it was; but a longer one is not cut to 32 bytes.
      # The server refuses what is no token.
      def token(text)
        text.empty? ? '00' * 32 : [text].pack('H*').byteslice(0, 100).unpack1('H*')
      end

      # Returns an open file with the certificate, whose name is gone, so that no end of the process leaves it behind. Its owner
      # alone can read it. nil without a certificate.
      def certificate_file(certificate)
        return unless certificate
        file = Tempfile.create('ferry')
        File.unlink(file.path)
        file.write(certificate)
        file.flush
        file
      end

      # Returns the options with the path of that file. A passphrase without a certificate is of no use.
      def with_file(options, file)
        file ? options.merge(cert: "/proc/self/fd/#{file.fileno}") : options.reject { |name, _| name == :passphrase }
      end

      # Calls the block, and raises for a bad certificate what the old libraries raised.
      def checking(certificate, passphrase)
        yield
      rescue OptionsError => e
        raise (certificate && original_error(certificate, passphrase)) || e.class, e.message
      end

      # Delivers outcomes soon in a thread, also if the program does not push again.
      def watch
        unless @watcher && @watcher.alive? # a child of fork has no threads of its parent
          @wake = Queue.new
          @watcher = Thread.new(@wake) do |wake|
            while wake.pop
              sleep 0.05 while @senders.values.map(&:read).any?
            end
          end
        end
        @wake << true if @wake.empty?
      end

      # Delivers the last outcomes. Without this, those that nobody had read when the process ends would be silent. And when a
      # signal ends it, Ruby runs its own hooks, and not that of libferry.
      def finish
        ends = Ferry.now + AT_EXIT
        @senders.values.each { |sender| sender.finish(ends) }
      end

      private

      def original_error(certificate, passphrase)
        require 'openssl'
        OpenSSL::X509::Certificate.new(certificate)
        OpenSSL::PKey.read(certificate, passphrase.to_s)
        nil
      rescue OpenSSL::X509::CertificateError
        OpenSSL::X509::CertificateError
      rescue OpenSSL::PKey::PKeyError, ArgumentError
        OpenSSL::PKey::RSAError
      end
    end

    at_exit { finish }

    attr_reader :key

    def initialize(key, listener)
      @key = key
      @library, @options, @certificate = key
      @listener = listener
      @lines = []
      @pid = Process.pid
      @used = Ferry.now
    end

    # Sends pairs of a notification and its record. Returns when all was written.
    def push(pairs)
      forget_parent unless @pid == Process.pid
      @used = Ferry.now
      loop do
        @lines.each { |line| line.exclusive { return line.push(pairs) } }
        # All are in use by other threads, or by the code that the handler of a signal interrupted.
        @lines << open_line
        Sender.add(self)
      end
    end

    # Delivers the outcomes that have come. Returns whether others will come.
    def read
      @lines.map { |line| line.exclusive { line.read || line.tell || line.pending? } != false && !line.foreign? }.any?
    end

    def abandoned?
      return false if Ferry.now - @used < IDLE
      @lines.reject! { |line| line.foreign? || line.exclusive { line.free } }
      @lines.empty?
    end

    def finish(ends)
      @lines.each do |line|
        until line.foreign? || line.exclusive { line.finish(ends) || true }
          break if Ferry.now > ends
          sleep 0.01
        end
      end
    end

    private

    def open_line
      @file ||= Sender.certificate_file(@certificate)
      options = Sender.with_file(@options, @file).merge(atExit: AT_EXIT)
      provider = Sender.checking(@certificate, @options[:passphrase]) do
        begin
          Provider.new(options.merge(shared: "ruby #{Digest::SHA256.hexdigest(@key.inspect)}"))
        rescue Error
          Provider.new(options) # A process may have 64 shared providers; and FERRY_CONFIG may have changed meanwhile.
        end
      end
      Line.new(provider, @library, @listener, @lines.any?(&:is_answered))
    end

    # A child of fork has no use for the lines of its parent, and may have no right to read its file.
    def forget_parent
      @pid = Process.pid
      @lines = []
      @file = nil
    end
  end
end
