package Ferry::Feedback;

use 5.010;
use strict;
use warnings;

use Carp qw(croak);
use Ferry qw(:constants);

our $VERSION = '0.1.0';

# Bytes of tuples that are read at a time.
use constant SIZE => 65_536;

sub CLONE_SKIP { return 1 }

# Opens the list of devices that are gone. The options are those of Ferry->new.
sub new {
    my ($class, @options) = @_;
    return bless { handle => Ferry::_opened(\&Ferry::_feedback_open, Ferry::_options(@options)), pid => $$ }, $class;
}

# Returns a list of devices, each a hash with `time`, in UNIX seconds, and `token`, in bytes. The list is empty when
# nothing came for so many seconds. Returns undef at the end, and croaks if the end could not be reached.
sub read {
    my ($self, $seconds) = @_;
    Ferry::_buffer(my $tuples, SIZE);
    my $length;
    Ferry::_stepwise($seconds, sub {
        $length = Ferry::_feedback_read($self->{handle}, $tuples, SIZE, $_[0]);
        return $length != FERRY_ETIME && $length != FERRY_EINTR;
    });
    return [] if $length == FERRY_ETIME || $length == FERRY_EINTR;
    return undef if $length == 0;
    croak 'Ferry: ', $self->report->{lastError} // Ferry::_error_text($length) if $length == FERRY_EPEER;
    Ferry::_checked($length);
    my @fields = unpack '(N n/a*)*', substr $tuples, 0, $length;
    return [map { { time => $fields[2 * $_], token => $fields[2 * $_ + 1] } } 0 .. @fields / 2 - 1];
}

sub report { return Ferry::report(@_) }

sub DESTROY { return Ferry::DESTROY(@_) }

1;
