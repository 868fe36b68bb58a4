package Net::APNS;

use 5.010;
use strict;
use warnings;

use Net::APNS::Notification;

our $VERSION = '0.0202';

sub new { return bless {}, ref $_[0] || $_[0] }

sub notify {
    my ($self, $arguments) = @_;
    return Net::APNS::Notification->new({ map { $_ => $arguments->{$_} } qw(cert key passwd) });
}

# Not in the original, which read no answers: sets what is called with a hash for each notification that was refused or
# not delivered. See README.md.
sub on_failure {
    my ($class, $receive) = @_;
    Net::APNS::Notification::on_failure($receive);
    return;
}

1;
