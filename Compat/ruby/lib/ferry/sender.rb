# frozen_string_literal: true

require 'ferry/feedback'
require 'ferry/line'
require 'securerandom'
require 'tempfile'

module Ferry
  # What the drop-ins send with: the lines of this process to one server with one certificate. A sender stays when the
  # program drops its clients, so that the next one finds its connections open.
  class Sender
    # How many seconds the end of the process waits for outcomes.
    AT_EXIT = 10
    # And how many more seconds libferry may take, for what is pushed after that.
    AFTER_EXIT = 1
    # Beyond so many senders, those that have not pushed for so many seconds are freed: a program may serve many apps.
    MOST = 50
    IDLE = 600

    @senders = {}
    @lock = Mutex.new
    # Ruby before 3.0 warns of a variable that was never set.
    @has_hook = @is_cut_short = @watcher = nil

    class << self
      # Returns the sender for these options and this certificate: PEM text, or nil.
      def for(library, options, certificate, listener)
        key = [library, options, certificate, listener]
        exclusively do
          @senders.delete_if { |_, sender| sender.idle? } if @senders.size > MOST
          @senders[key] ||= new(key)
        end
      end

      # Notes a sender that gets a line.
      def add(sender)
        # A client may have kept a sender that was idle for long. Another one may have its key by now, with outcomes to read.
        key = sender.key
        key = [key, sender.object_id] unless (@senders[key] || sender).equal?(sender)
        @senders[key] = sender
        return if @has_hook
        @has_hook = true
        at_exit { finish } # The hook below came too early where a server or a test runs in at_exit.
      end

      # Calls the block while no other thread is in such a block. The handler of a signal may not wait for a mutex; and
      # if it has interrupted such a block, it would wait for ever.
      def exclusively
        Thread.handle_interrupt(Object => :on_blocking) do
          begin
            sleep 0.001 until (is_first = @lock.try_lock) || @lock.owned?
            yield
          ensure
            @lock.unlock if is_first
          end
        end
      end

      # Returns the options of ferry_open for a server. FERRY_CONFIG names a file whose options win.
      def options(host, port, others)
        server = host ? { backend: 'auto', host: host, port: port } : {}
        server.merge(others).merge(config: ENV['FERRY_CONFIG']).reject { |_, value| value.nil? || value == '' }
      end

      # Returns a token as hexadecimal digits. The old libraries made 32 bytes of what is none, such as a token with a
      # new line behind it.
      def token(text)
        text.match?(/\A(\h\h){1,100}\z/) ? text : [text].pack('H64').unpack1('H*')
      end

      # Returns an open file with the certificate, which its owner alone can read; nil without one. It has no name any
      # more, so no end of the process leaves a private key behind.
      def certificate_file(certificate)
        return unless certificate
        file = Tempfile.create('ferry')
        File.unlink(file.path)
        file.write(certificate)
        file.flush
        file
      end

      # Returns the options with the path of that file. Without it, a passphrase is of no use.
      def with_file(options, file)
        file ? options.merge(cert: "/proc/self/fd/#{file.fileno}") : options.reject { |name, _| name == :passphrase }
      end

      # Calls the block, and raises for a bad certificate what the old libraries raised.
      def checking(certificate, passphrase)
        yield
      rescue OptionsError => e
        error = certificate && original_error(certificate, passphrase)
        raise e unless error
        raise error, e.message.sub(%r{/proc/self/fd/\d+}, 'The certificate')
      end

      # Calls the block with each device that is gone, and since when.
      def each_gone(options, certificate)
        file = certificate_file(certificate)
        checking(certificate, options[:passphrase]) do
          Feedback.new(with_file(options, file)).each { |token, time| yield token, time }
        end
      ensure
        file.close if file
      end

      # Delivers outcomes in a thread, soon, also if the program does not push again.
      def watch
        unless @watcher && @watcher.alive? # A child of fork does not have the threads of its parent.
          @wake = Queue.new
          @watcher = Thread.new(@wake) { |wake| sleep 0.05 while has_more? || wake.pop }
        end
        @wake << true if @wake.empty?
      end

      # Delivers the last outcomes. Without this, those that nobody had read when the process ends would be silent. And
      # when a signal ends it, Ruby runs its own hooks, and not that of libferry.
      def finish
        return if @is_cut_short
        ends = Ferry.now + AT_EXIT
        @senders.values.each { |sender| sender.finish(ends) }
      rescue SignalException, SystemExit # Somebody presses Ctrl-C again.
        @is_cut_short = true
        raise
      end

      private

      # Delivers what has come. Returns whether more will come.
      def has_more?
        @senders.values.map(&:read).any?
      end

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

    def initialize(key)
      @key = key
      @library, @options, @certificate, @listener = key
      @lines = []
      @used = Ferry.now
      @pid = nil
    end

    # Sends pairs of a notification and its record. Returns when all was written.
    def push(pairs)
      @used = Ferry.now
      loop do
        @lines.each { |line| line.exclusive { return line.push(pairs) } }
        # Other threads use them all, or the code that the handler of a signal has interrupted.
        Sender.exclusively { @lines << open_line }
      end
    end

    # Delivers the outcomes that have come. Returns whether more will come.
    def read
      @lines.map do |line|
        line.exclusive do
          line.read
          line.tell
        end
        !line.dead? && line.pending?
      end.any?
    end

    # Frees the lines, if nobody needs them. Returns whether.
    def idle?
      return false if Ferry.now - @used < IDLE
      @lines.reject! { |line| line.dead? || line.exclusive { line.free } }
      @lines.empty?
    end

    def finish(ends)
      @lines.each do |line|
        # Another thread may be in the middle of a call.
        sleep 0.01 until line.dead? || line.exclusive { line.finish(ends) || true } || Ferry.now > ends
      end
    end

    private

    def open_line
      begin_process unless @pid == Process.pid
      Sender.add(self)
      options = Sender.with_file(@options, @file).merge(atExit: AFTER_EXIT, outcomes: 'all')
      provider = Sender.checking(@certificate, @options[:passphrase]) { open(options) }
      Line.new(provider, @library, @listener, @lines.any?(&:is_answered))
    end

    # The lines share their connections, but not where a process has too many names, or FERRY_CONFIG has changed.
    def open(options)
      Provider.new(options.merge(shared: @name))
    rescue Error
      Provider.new(options)
    end

    # A child of fork cannot use the lines of its parent, and may have no right to read its file.
    def begin_process
      @lines = []
      @file = Sender.certificate_file(@certificate)
      @name = "ruby #{SecureRandom.hex}"
      @pid = Process.pid
    end
  end
end
