package AnyEvent::APNS::Plain;

# What AnyEvent::APNS has with `debug_port`: a connection without TLS to a program's own test server, on this machine.

use 5.010;
use strict;
use warnings;

use AnyEvent::Handle;
use AnyEvent::Socket ();
use Scalar::Util qw(weaken);

our $VERSION = '0.10';
our @ISA = qw(AnyEvent::Handle);

# Connects for `owner`, an AnyEvent::APNS, and makes this its handler. Returns what keeps the attempt alive.
sub connect {
    my ($class, $owner, $port) = @_;
    weaken($owner);
    return AnyEvent::Socket::tcp_connect('127.0.0.1', $port, sub {
        my ($descriptor) = @_;
        return unless $owner;
        return $owner->on_error->(undef, 1, "$!") unless $descriptor;
        $owner->{handler} = $class->_new($owner, $descriptor);
        $owner->on_connect->();
    });
}

sub _new {
    my ($class, $owner, $descriptor) = @_;
    weaken($owner);
    my $end = sub {
        my ($name, $self, @news) = @_;
        $owner->$name->($self, @news) if $owner;
        $owner->clear_handler if $owner && ($owner->handler // 0) == $self;
        $self->destroy;
    };
    return $class->new(
        fh       => $descriptor,
        on_error => sub { $end->('on_error', @_) },
        on_read  => sub { $owner ? $_[0]->_read($owner) : delete $_[0]{rbuf} },
        $owner->on_eof ? (on_eof => sub { $end->('on_eof', @_) }) : (),
    );
}

sub send {
    my ($self, $identifier, $notification) = @_;
    $self->push_write(pack 'C N N n/a* n/a*', 1, $identifier, @$notification{qw(expiration token payload)});
    return;
}

# Tells the error responses that have come.
sub _read {
    my ($self, $owner) = @_;
    while (length($self->{rbuf} // '') >= 6) {
        my ($command, $status, $identifier) = unpack 'C C N', substr $self->{rbuf}, 0, 6, '';
        $owner->on_error_response->($identifier, $status) if $command == 8 && $owner->on_error_response;
    }
    return;
}

1;
