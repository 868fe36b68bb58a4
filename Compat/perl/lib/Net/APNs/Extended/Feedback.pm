package Net::APNs::Extended::Feedback;

use 5.010;
use strict;
use warnings;

use Carp qw(carp croak);
use Ferry::DropIn;
use Net::APNs::Extended::Base;

our $VERSION = '0.14';
our @ISA = qw(Net::APNs::Extended::Base);

my %DEFAULT = (
    host_production => 'feedback.push.apple.com',
    host_sandbox    => 'feedback.sandbox.push.apple.com',
    is_sandbox      => 0,
    port            => 2196,
);

sub new {
    my ($class, %arguments) = @_;
    return $class->SUPER::new(%DEFAULT, %arguments);
}

sub retrieve_feedback {
    my ($self) = @_;
    my $list = Ferry::DropIn::feedback($self->_request);
    my @devices;
    while (1) {
        my $more = eval { $list->read(@devices ? undef : $self->read_timeout) };
        if (my $error = $@) {
            # Reading has cleared the list, so what was read must reach the caller.
            croak $error unless @devices;
            carp $error;
            last;
        }
        last unless $more && @$more;
        push @devices, map {
            { time_t => $_->{time}, token_bin => $_->{token}, token_hex => unpack 'H*', $_->{token} }
        } @$more;
    }
    return \@devices;
}

1;
