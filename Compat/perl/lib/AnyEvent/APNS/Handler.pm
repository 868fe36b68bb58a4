package AnyEvent::APNS::Handler;

# What AnyEvent::APNS has in place of the AnyEvent::Handle of a connection.
#
#   new ──▶ open ──destroy, or an error that ends a connection──▶ lingering ──everything settled──▶ gone
#
# A lingering handler still sends what it was given, and reports what becomes of it.

use 5.010;
use strict;
use warnings;

use AnyEvent;
use Carp qw(croak);
use Ferry qw(:constants);
use Ferry::DropIn;
use List::Util qw(max min);
use Scalar::Util qw(refaddr weaken);

our $VERSION = '0.10';
our $AUTOLOAD;

# No descriptor tells that everything is written. A handler with an on_drain looks after so many seconds, then after
# twice as many, and so on.
use constant { FIRST_LOOK => 0.01, LONGEST_LOOK => 0.5 };

my %lingering;

sub CLONE { %lingering = () }

# `owner` is an AnyEvent::APNS, `request` the options of its provider.
sub new {
    my ($class, $owner, %request) = @_;
    my $self = bless { owner => $owner, request => \%request }, $class;
    weaken($self->{owner});
    my $fault;
    eval { $self->_open; 1 } or $fault = $@;
    weaken(my $weak = $self);
    $self->{connecting} = AnyEvent->timer(after => 0, cb => sub {
        delete $weak->{connecting};
        return $weak->_fail(1, $fault) if defined $fault;
        $weak->{owner}->on_connect->() if $weak->{owner};
        $weak->_expect_drain if $weak;
    });
    return $self;
}

sub _open {
    my ($self) = @_;
    $self->{provider} = Ferry::DropIn->open(%{ $self->{request} });
    weaken(my $weak = $self);
    $self->{receive} = sub { $weak ? $weak->_receive(@_) : _warn(@_) };
    $self->{watcher} = $self->{provider}->watch(sub { $weak->_look });
    return;
}

sub send {
    my ($self, $identifier, $notification) = @_;
    # The event loop of a child process is new, too.
    $self->_open if !$self->{provider} || $self->{provider}{era} ne Ferry::DropIn::era();
    $self->{provider}->add($self->{receive}, $identifier, $notification);
    $self->{provider}->pump;
    $self->_expect_drain;
    return;
}

# Something came from the library: outcomes, or room.
sub _look {
    my ($self) = @_;
    my $provider = $self->{provider};
    $provider->pump;
    $provider->collect;
    delete $lingering{ refaddr $self } if $provider->is_over;
    return;
}

# Calls `callback` each time that everything is written. Undef: no longer.
sub on_drain {
    my ($self, $callback) = @_;
    $self->{on_drain} = $callback;
    $self->_expect_drain;
    return;
}

sub _expect_drain {
    my ($self) = @_;
    # What the program sends when it is connected comes first.
    return if !$self->{on_drain} || $self->{connecting} || $self->{draining};
    $self->_look_for_drain(0);
    return;
}

sub _look_for_drain {
    my ($self, $seconds) = @_;
    weaken(my $weak = $self);
    $self->{draining} = AnyEvent->timer(after => $seconds, cb => sub {
        my $self = $weak;
        $self->_look;
        if (!$self->{provider}->is_written) {
            $self->_look_for_drain(min LONGEST_LOOK, max FIRST_LOOK, 2 * $seconds);
            return;
        }
        delete $self->{draining};
        $self->{on_drain}->($self) if $self->{on_drain};
    });
    return;
}

# Ends the connection for the program. What was given is still sent.
sub destroy {
    my ($self) = @_;
    delete @$self{qw(on_drain connecting draining)};
    my $provider = $self->{provider};
    $lingering{ refaddr $self } = $self if $provider && !$provider->is_over;
    return;
}

# News of notifications: those that were refused, and those that were not delivered or may not have been.
sub _receive {
    my ($self, @news) = @_;
    my $owner = $self->{owner};
    return _warn(@news) if !$owner || Ferry::DropIn::is_ending();
    my $error;
    if (my $tell = $owner->on_error_response) {
        for my $news (grep { $_->{status} } @news) {
            eval { $tell->(@$news{qw(identifier status)}); 1 } or $error //= $@;
        }
    }
    if (my @failures = grep { $_->{failure} } @news) {
        my %cause = map { ($_->{cause} // 0) => 1 } @failures;
        my $is_fatal = $cause{ FERRY_CAUSE_CREDENTIALS() } || $cause{ FERRY_CAUSE_NO_CONNECTION() };
        $self->_fail($is_fatal ? 1 : 0, _complaint(@failures));
    }
    die $error if defined $error;
    return;
}

sub _warn {
    my @failures = grep { $_->{failure} } @_;
    warn 'AnyEvent::APNS: ', _complaint(@failures), "\n" if @failures;
    return;
}

sub _complaint { return Ferry::DropIn::complaint(sub { "identifier $_[0]{identifier}" }, @_) }

# Reports an error. A fatal one ends the connection, as it did: the program calls connect again.
sub _fail {
    my ($self, $is_fatal, $sentence) = @_;
    my $owner = $self->{owner} or return;
    if ($is_fatal) {
        $owner->clear_handler if $owner->connected && $owner->handler == $self;
        $self->destroy;
    }
    $owner->on_error->($self, $is_fatal, $sentence);
    return;
}

sub AUTOLOAD {
    my ($name) = $AUTOLOAD =~ /(\w+)\z/;
    return if $name eq 'DESTROY';
    croak "AnyEvent::APNS: the handler has no $name, because the library holds the connection. It has on_drain and destroy";
}

1;
