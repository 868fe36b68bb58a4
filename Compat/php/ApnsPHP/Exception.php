<?php

/** What went wrong with the options or the connection. */
class ApnsPHP_Exception extends Exception
{
}
